"""Plain English (``docs/how-to/write-for-kennel.md``): no phrase that the page lists, no sentence of over 40 words."""

import re
from pathlib import Path

import pytest

from tests.prose import ROOT, Phrase, Sentence, sentences, tracked

PAGE = ROOT / "docs/how-to/write-for-kennel.md"
MAX_WORDS = 40
FOLDERS = ("api", "benchmarks", "client", "deploy", "docs", "migrations", "scorer", "tests", "worker", ".github")
SUFFIXES = (".md", ".html", ".py", ".js", ".css", ".sh", ".toml", ".yml", ".yaml")
EXCEPTIONS = {
    "docs/how-to/write-for-kennel.md": "lists the phrases",
}
"""Files that are not read, with the reason."""


def phrases_to_avoid() -> list[Phrase]:
    """The phrases of the page's table."""
    rows = re.findall(r"^\| (`.*`) \| (.+) \|$", PAGE.read_text(), re.M)
    return [Phrase(text, instead) for cell, instead in rows for text in re.findall(r"`([^`]+)`", cell)]


def read_files() -> list[Path]:
    names = [f"{folder}/**/*{suffix}" for folder in FOLDERS for suffix in SUFFIXES]
    top = ["Makefile", ".ci/*", *(f"*{suffix}" for suffix in SUFFIXES)]
    return [path for path in tracked(*(f":(glob){name}" for name in [*names, *top])) if _is_read(path)]


def _is_read(path: Path) -> bool:
    return path.relative_to(ROOT).as_posix() not in EXCEPTIONS


@pytest.fixture(scope="module")
def prose() -> list[Sentence]:
    return [sentence for path in read_files() for sentence in sentences(path)]


def avoided_phrases_in(sentence: Sentence, phrases: list[Phrase]) -> list[str]:
    return [phrase.text for phrase in phrases if re.search(phrase.expression, sentence.text, re.I)]


def test_no_phrase_to_avoid_is_used(prose: list[Sentence]) -> None:
    phrases = phrases_to_avoid()
    for phrase in phrases:
        example = " ".join(word.split("/")[-1] for word in phrase.text.split())
        assert avoided_phrases_in(Sentence("", f"Before {example} after"), [phrase]) == [phrase.text]
    any_of_them = re.compile("|".join(phrase.expression for phrase in phrases), re.I)
    suspects = [sentence for sentence in prose if any_of_them.search(sentence.text)]
    assert [f"{sentence.place}: {avoided_phrases_in(sentence, phrases)}" for sentence in suspects] == []


def test_no_sentence_is_too_long(prose: list[Sentence]) -> None:
    assert len(prose) > 10_000
    long = [f"{sentence.place}: {sentence.words} words" for sentence in prose if sentence.words > MAX_WORDS]
    assert long == []
