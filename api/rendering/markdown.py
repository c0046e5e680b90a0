"""Renders organizers' Markdown as HTML that is safe by construction: only the parser's own tags can appear.

Raw HTML is escaped. An image becomes its alternative text because pages load nothing from other hosts. Links stay text
unless they are relative or use http, https or mailto.
"""

from collections.abc import MutableMapping
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markupsafe import Markup, escape

TOP = 3
"""The level of the highest heading, below the page's own h1 and h2."""
SUMMARY_LENGTH = 200
PARAGRAPH = 3
"""The number of tokens of a paragraph: opening, inline content, closing."""
_SCHEMES = ("http:", "https:", "mailto:")


def _is_link(url: str) -> bool:
    scheme = url.split("/", 1)[0].partition(":")
    return not scheme[1] or url.lower().startswith(_SCHEMES)


def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    parser.validateLink = _is_link  # type: ignore[method-assign] # the library documents this way to restrict links
    parser.add_render_rule("link_open", _link)
    parser.add_render_rule("image", _image)
    return parser


def _link(renderer: RendererHTML, tokens: list[Token], index: int, options: Any, env: MutableMapping[str, Any]) -> str:
    tokens[index].attrSet("rel", "nofollow noopener noreferrer")
    return renderer.renderToken(tokens, index, options, env)


def _image(renderer: RendererHTML, tokens: list[Token], index: int, options: Any, env: MutableMapping[str, Any]) -> str:
    return str(escape(tokens[index].content))


_PARSER = _parser()


def render_html(text: str) -> Markup:
    return _rendered(_PARSER.parse(text))


def summarise_text(text: str) -> str:
    """The first paragraph as one line of plain text, shortened at a word; empty if there is none."""
    tokens = _PARSER.parse(text)
    line = next((_line(tokens[i + 1]) for i, token in enumerate(tokens) if token.type == "paragraph_open"), "")
    return line if len(line) <= SUMMARY_LENGTH else line[:SUMMARY_LENGTH].rsplit(" ", 1)[0] + " …"


def render_rest(text: str) -> Markup:
    """The text as HTML, without its first paragraph if ``summarise_text`` returns that in full."""
    tokens = _PARSER.parse(text)
    is_in_summary = tokens and tokens[0].type == "paragraph_open" and len(_line(tokens[1])) <= SUMMARY_LENGTH
    return _rendered(tokens[PARAGRAPH if is_in_summary else 0 :])


def _rendered(tokens: list[Token]) -> Markup:
    headings = [token for token in tokens if token.type in {"heading_open", "heading_close"}]
    shift = TOP - min((int(token.tag[1]) for token in headings), default=TOP)
    for token in headings:
        token.tag = f"h{min(6, int(token.tag[1]) + shift)}"
    html = _PARSER.renderer.render(tokens, _PARSER.options, {})
    return Markup(html)  # noqa: S704 - safe by construction, see above


def _line(inline: Token) -> str:
    breaks = {"softbreak", "hardbreak"}
    return " ".join("".join(" " if token.type in breaks else token.content for token in inline.children or ()).split())
