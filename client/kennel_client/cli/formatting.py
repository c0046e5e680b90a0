"""Format times and numbers, and make other people's text safe for terminals and CSV cells."""

import sys
import unicodedata
from datetime import UTC, datetime
from io import TextIOWrapper
from typing import TextIO

UNSAFE_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Unicode categories of invisible characters and of characters that control a terminal."""
JOINERS = frozenset("\u200c\u200d")
"""Invisible characters that some writing systems need."""
FORMULA_SIGNS = ("=", "+", "-", "@", "\t", "\r", "\uff1d", "\uff0b", "\uff0d", "\uff20")


def terminal_safe(text: object) -> str:
    """Replace control and invisible characters in text from other people."""
    return "".join(
        "\ufffd" if unicodedata.category(character) in UNSAFE_CATEGORIES and character not in JOINERS else character
        for character in str(text)
    )


def terminal_safe_lines(text: str) -> str:
    return "\n".join(terminal_safe(line.expandtabs(4)) for line in text.splitlines())


def escape_formula(cell: str) -> str:
    """Put a quote before a CSV cell that a spreadsheet would run as a formula, even one with a full-width sign."""
    return f"'{cell}" if cell.startswith(FORMULA_SIGNS) else cell


def format_count(count: int, noun: str) -> str:
    """Format a number of things as ``1 team`` or ``2,000 teams``."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def format_time(iso: str | None) -> str:
    """Format a time from the API as ``2026-03-14 12:00 UTC``, or a dash."""
    return f"{datetime.fromisoformat(iso).astimezone(UTC):%Y-%m-%d %H:%M} UTC" if iso else "-"


def format_duration(seconds: float) -> str:
    """Format a waiting time as ``40 s``, ``4 min``, ``5 h 12 min`` or ``3 d``."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    hours, rest = divmod(minutes, 60)
    return f"{hours} h {rest} min" if hours < 48 else f"{hours // 24} d"


def escape_unknown_characters() -> None:
    """Print characters that standard output cannot encode as escapes instead of raising an error."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def utf8_output() -> TextIO:
    """Standard output in UTF-8 for JSON and CSV: programs read these, regardless of the terminal's encoding."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")
    return sys.stdout
