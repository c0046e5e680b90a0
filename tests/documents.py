"""The documentation as data: its pages, code spans and command blocks."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
FENCE = re.compile(r"^(?P<indent> *)```(?P<language>\w*)[^\n]*\n(?P<body>.*?)^(?P=indent)```", re.MULTILINE | re.DOTALL)
SPAN = re.compile(r"`((?:[^`\n]|\n(?!\n))+)`")
MARK = re.compile(r"<!-- (?P<kind>not run|run by): (?P<what>[^>]+?) -->\s*$")


def pages() -> list[Path]:
    """All documentation pages, including those that code hosts and package registries show."""
    outside = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CODE_OF_CONDUCT.md", "client/README.md")
    return [
        *(ROOT / name for name in outside),
        *sorted((ROOT / ".github").rglob("*.md")),
        *sorted((ROOT / "docs").rglob("*.md")),
    ]


@dataclass(frozen=True)
class Block:
    """A fenced block. ``mark`` and ``marked`` come from a comment directly above it and are "" without one."""

    language: str
    body: str
    mark: str = ""
    marked: str = ""


def blocks(text: str) -> Iterator[Block]:
    for fence in FENCE.finditer(text):
        indent = len(fence["indent"])
        body = "".join(line[indent:] for line in fence["body"].splitlines(keepends=True))
        mark = MARK.search(text[: fence.start()].rstrip())
        yield Block(fence["language"], body, mark["kind"] if mark else "", mark["what"] if mark else "")


def commands(block: Block) -> list[str]:
    """The lines that start with ``$``, joined with their continuation lines."""
    joined = block.body.replace("\\\n", " ")
    return [line[2:] for line in joined.splitlines() if line.startswith("$ ")]


def code_spans(text: str) -> list[str]:
    """The text in backticks outside fenced blocks, with line breaks replaced by spaces."""
    return [" ".join(span.split("\n")) for span in SPAN.findall(FENCE.sub("", text))]


def spoken_commands(text: str) -> list[str]:
    """Every command that a page shows or mentions."""
    in_blocks = [command for block in blocks(text) if block.language == "console" for command in commands(block)]
    return in_blocks + [span for span in code_spans(text) if span.startswith(("kennel ", "make ", "python -m "))]
