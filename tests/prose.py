"""The prose of the repository's files, as the checks of `tests/test_prose.py` read it: sentences with their places."""

import ast
import io
import re
import subprocess
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path

import yaml

ROOT = Path(__file__).parent.parent

_CODE_SPAN = re.compile(r"``[^`]+``|`[^`]+`|\$[^$\n]+\$|:\w+:`[^`]+`")
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"')\]*_]*\s+")
_LIST_ITEM = re.compile(r"\s*([-*+]|\d+[.)])\s+|\s*:\s{1,3}")
_MIN_WORDS = 4
"""A string of fewer words is a name, a key or a piece of a command."""


@dataclass(frozen=True)
class Sentence:
    place: str
    """``path:line`` of the block it is in."""
    text: str

    @property
    def words(self) -> int:
        """How many words it has; a piece of code counts as one."""
        plain = _LINK.sub(r"\1", _CODE_SPAN.sub("code", self.text))
        return sum(any(character.isalpha() for character in word) for word in plain.split())


def sentences(path: Path) -> Iterator[Sentence]:
    """Every sentence of a file that a person reads: documentation, docstrings, comments, strings, visible text."""
    blocks = _BLOCKS.get(path.suffix, _commented)
    for line, block in blocks(path.read_text()):
        for text in _SENTENCE_END.split(" ".join(block.split())):
            if text:
                yield Sentence(f"{path.relative_to(ROOT)}:{line}", text)


def tracked(*patterns: str) -> list[Path]:
    """The files of the repository that match one of git's patterns."""
    names = subprocess.run(["git", "ls-files", *patterns], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [ROOT / name for name in names.splitlines() if (ROOT / name).is_file()]


def _markdown(text: str) -> Iterator[tuple[int, str]]:
    """Paragraphs, headings, list items and table cells, without blocks of code and formulas."""
    block: list[str] = []
    start, in_code = 1, False
    for number, line in enumerate([*text.splitlines(), ""], 1):
        stripped, item = line.strip(), _LIST_ITEM.match(line)
        is_fence = stripped.startswith(("```", "$$"))
        begins = not stripped or is_fence or stripped.startswith(("#", "|", "<!--", ">")) or item
        if block and (begins or in_code):
            yield start, " ".join(block)
            block = []
        if is_fence:
            in_code = not in_code if stripped.count("```") + stripped.count("$$") == 1 else in_code
        elif in_code or not stripped or stripped.startswith("<"):
            continue
        elif stripped.startswith("|"):
            yield from ((number, cell) for cell in re.split(r"\||<br>", stripped.strip("|")) if cell.strip(" :-"))
        elif stripped.startswith("#"):
            yield number, stripped.lstrip("# ")
        else:
            start = start if block else number
            block.append(stripped[len(item.group().lstrip()) :] if item and not block else stripped)


_SILENT = frozenset({"script", "style", "pre", "svg"})
_INLINE = frozenset({"a", "abbr", "b", "code", "em", "i", "kbd", "small", "span", "strong", "sub", "sup", "time"})


class _VisibleText(HTMLParser):
    """The text of a template that a browser shows, in blocks."""

    SHOWN_ATTRIBUTES = ("title", "placeholder", "alt", "aria-label", "content", "data-confirm")

    def __init__(self) -> None:
        super().__init__()
        self.blocks: list[tuple[int, str]] = []
        self._text: list[str] = []
        self._hidden = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._hidden += tag in _SILENT
        if tag not in _INLINE:
            self.end_block()
        self.blocks += ((self.getpos()[0], text) for name, text in attrs if name in self.SHOWN_ATTRIBUTES and text)

    def handle_endtag(self, tag: str) -> None:
        self._hidden -= tag in _SILENT
        if tag not in _INLINE:
            self.end_block()

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self._text.append(data)

    def end_block(self) -> None:
        text = " ".join("".join(self._text).split())
        if text:
            self.blocks.append((self.getpos()[0], text))
        self._text = []


_JINJA_STATEMENT = re.compile(r"\{%.*?%\}|\{#.*?#\}", re.S)
_JINJA_STRING = re.compile(r"\"([^\"\n]{12,})\"|'([^'\n]{12,})'")


def _template(text: str) -> Iterator[tuple[int, str]]:
    for match in re.finditer(r"\{[{%].*?[}%]\}", text, re.S):
        for found in _JINJA_STRING.finditer(match.group()):
            words = found.group(1) or found.group(2)
            if len(words.split()) >= _MIN_WORDS:
                yield text.count("\n", 0, match.start()) + 1, words
    parser = _VisibleText()
    plain = _JINJA_STATEMENT.sub(lambda m: "\n" * m.group().count("\n") + " ", text)
    parser.feed(re.sub(r"\{\{.*?\}\}", lambda m: "\n" * m.group().count("\n") + "N", plain, flags=re.S))
    parser.close()
    parser.end_block()
    yield from parser.blocks


def _python(text: str) -> Iterator[tuple[int, str]]:
    """Docstrings, comments, and strings of at least four words with their f-string parts as ``N``."""
    tree = ast.parse(text)
    inside_joined: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            inside_joined |= {id(part) for part in ast.walk(node)} - {id(node)}
    for node in ast.walk(tree):
        if id(node) in inside_joined or not isinstance(node, ast.expr):
            continue
        value = _string(node)
        if value is not None and _is_prose(value):
            yield from ((node.lineno + line - 1, block) for line, block in _markdown(value))
    yield from _comments(text)


def _string(node: ast.AST) -> str | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "N" for part in node.values)
    return None


_CODE = re.compile(
    r"\b(SELECT|INSERT|UPDATE|CREATE|ALTER|GRANT|DELETE FROM)\b|[{};]\s*$|^\s*(#!|import |from )|</\w+>", re.M
)
"""What SQL, scripts and data have, and prose has not."""


def _is_prose(text: str) -> bool:
    return len(text.split()) >= _MIN_WORDS and not _CODE.search(text)


def _comments(text: str) -> Iterator[tuple[int, str]]:
    block: list[str] = []
    start = last = 0
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type != tokenize.COMMENT:
            continue
        words = token.string.lstrip("#: ")
        if re.match(r"noqa|type:|fmt:|!|pragma", words):
            continue
        alone = token.line.strip().startswith("#")
        if block and (token.start[0] != last + 1 or not alone):
            yield start, " ".join(block)
            block = []
        start = start if block else token.start[0]
        block.append(words)
        last = token.start[0]
    if block:
        yield start, " ".join(block)


def _commented(text: str) -> Iterator[tuple[int, str]]:
    """The comments of a Makefile, TOML, YAML, shell, CSS or JavaScript file."""
    block: list[str] = []
    start = 0
    for number, line in enumerate([*text.splitlines(), ""], 1):
        match = re.search(r"(?:^|\s)(?:#+|//|/\*+|\*)\s+(.*?)(?:\*/)?$", line)
        alone = match and not line[: match.start()].strip()
        if block and not alone:
            yield start, " ".join(block)
            block = []
        if match:
            start = start if block else number
            block.append(match.group(1))
            if not alone:
                yield start, " ".join(block)
                block = []


_SCRIPT_STRING = re.compile(r"\"([^\"\n]+)\"|'([^'\n]+)'|`([^`]+)`")


def _script(text: str) -> Iterator[tuple[int, str]]:
    """Comments, and strings of at least four words."""
    yield from _commented(text)
    for match in _SCRIPT_STRING.finditer(text):
        words = next(filter(None, match.groups()))
        if _is_prose(words):
            yield text.count("\n", 0, match.start()) + 1, re.sub(r"\$\{[^}]*\}", "N", words)


def _yaml(text: str) -> Iterator[tuple[int, str]]:
    """Comments, and values of at least four words."""
    yield from _commented(text)
    for token in yaml.scan(text, yaml.SafeLoader):
        value = token.value if isinstance(token, yaml.ScalarToken) else ""
        if _is_prose(value):
            yield from ((token.start_mark.line + line, block) for line, block in _markdown(value))


_BLOCKS = {".md": _markdown, ".html": _template, ".py": _python, ".js": _script, ".yml": _yaml, ".yaml": _yaml}


@dataclass(frozen=True)
class Phrase:
    """A phrase to avoid: words, with a slash between alternatives."""

    text: str
    instead: str

    @property
    def expression(self) -> str:
        """The regular expression that finds it."""
        words = ["(?:" + "|".join(map(re.escape, word.split("/"))) + ")" for word in self.text.split()]
        begin, end = (r"\b" if self.text[at].isalnum() else "" for at in (0, -1))
        return begin + r"\s+".join(words) + end
