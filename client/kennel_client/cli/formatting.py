"""Times and numbers as text, and text of others made safe for terminals and for cells of CSV files; standard output
in an encoding that has a character for every name.
"""

import sys
import unicodedata
from datetime import UTC, datetime
from io import TextIOWrapper
from typing import TextIO

UNSAFE_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Unicode categories that are invisible or that control a terminal."""
JOINERS = frozenset("\u200c\u200d")
"""Invisible characters that some writing systems need."""
FORMULA_SIGNS = ("=", "+", "-", "@", "\t", "\r", "\uff1d", "\uff0b", "\uff0d", "\uff20")


def terminal_safe(text: object) -> str:
    """Text of others, with control and invisible characters replaced."""
    return "".join(
        "\ufffd" if unicodedata.category(each) in UNSAFE_CATEGORIES and each not in JOINERS else each
        for each in str(text)
    )


def terminal_safe_lines(text: str) -> str:
    """Like :func:`terminal_safe`, line by line."""
    return "\n".join(terminal_safe(line.expandtabs(4)) for line in text.splitlines())


def escape_formula(cell: str) -> str:
    """A cell of a CSV file, with a quote before it if a spreadsheet would run it as a formula; some read full-width
    signs, too."""
    return f"'{cell}" if cell.startswith(FORMULA_SIGNS) else cell


def format_time(iso: str | None) -> str:
    """A time of the API: ``2026-03-14 12:00 UTC``, or a dash."""
    return f"{datetime.fromisoformat(iso).astimezone(UTC):%Y-%m-%d %H:%M} UTC" if iso else "-"


def format_duration(seconds: float) -> str:
    """A waiting time: ``40 s``, ``4 min``, ``5 h 12 min``, ``3 d``."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    hours, rest = divmod(minutes, 60)
    return f"{hours} h {rest} min" if hours < 48 else f"{hours // 24} d"


def escape_unknown_characters() -> None:
    """Print characters that standard output does not have as escapes, where Python would raise an error."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def utf8_output() -> TextIO:
    """Standard output in UTF-8, for JSON and CSV: programs read these, whatever the terminal's encoding is."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")
    return sys.stdout
