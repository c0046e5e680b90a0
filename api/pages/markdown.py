"""An organizer's Markdown as HTML that is safe by construction.

Raw HTML is escaped, an image is shown as its alternative text (a page asks no other host for anything), and
addresses other than http, https, mailto and relative ones are left as text: only the parser's own tags can appear.
"""

from collections.abc import MutableMapping
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markupsafe import Markup, escape

HEADINGS = {"h1": "h3", "h2": "h4", "h3": "h5", "h4": "h6", "h5": "h6", "h6": "h6"}
"""A text sits under the page's own h1 and h2."""
SUMMARY_LENGTH = 200
_SCHEMES = ("http:", "https:", "mailto:")


def _is_link(url: str) -> bool:
    scheme = url.split("/", 1)[0].partition(":")
    return not scheme[1] or url.lower().startswith(_SCHEMES)


def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    parser.validateLink = _is_link  # type: ignore[method-assign] # the library's own way to say which links
    parser.add_render_rule("heading_open", _heading)
    parser.add_render_rule("heading_close", _heading)
    parser.add_render_rule("link_open", _link)
    parser.add_render_rule("image", _image)
    return parser


def _heading(
    renderer: RendererHTML, tokens: list[Token], index: int, options: Any, env: MutableMapping[str, Any]
) -> str:
    tokens[index].tag = HEADINGS[tokens[index].tag]
    return renderer.renderToken(tokens, index, options, env)


def _link(
    renderer: RendererHTML, tokens: list[Token], index: int, options: Any, env: MutableMapping[str, Any]
) -> str:
    tokens[index].attrSet("rel", "nofollow noopener noreferrer")
    return renderer.renderToken(tokens, index, options, env)


def _image(
    renderer: RendererHTML, tokens: list[Token], index: int, options: Any, env: MutableMapping[str, Any]
) -> str:
    return str(escape(tokens[index].content))


_PARSER = _parser()


def html_of(text: str) -> Markup:
    """Markdown as safe HTML."""
    return Markup(_PARSER.render(text))  # noqa: S704 - safe by construction, see above


def summary_of(text: str) -> str:
    """The first paragraph as one line of plain text, shortened at a word; empty if there is none."""
    tokens = _PARSER.parse(text)
    first = next((tokens[i + 1] for i, token in enumerate(tokens) if token.type == "paragraph_open"), None)
    pieces = (" " if child.type in {"softbreak", "hardbreak"} else child.content for child in _children(first))
    line = " ".join("".join(pieces).split())
    return line if len(line) <= SUMMARY_LENGTH else line[:SUMMARY_LENGTH].rsplit(" ", 1)[0] + " …"


def _children(token: Token | None) -> list[Token]:
    return token.children or [] if token else []
