"""Times, numbers and other people's words, as a terminal shows them."""

import unicodedata
from datetime import UTC, datetime
from typing import Any

UNSAFE_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Categories of characters that steer a terminal, or that nobody can see."""
JOINERS = frozenset("\u200c\u200d")
"""Which some scripts cannot be written without."""


def terminal_safe(text: object) -> str:
    """Words of somebody else, without what a terminal would obey."""
    return "".join(
        "\ufffd" if unicodedata.category(each) in UNSAFE_CATEGORIES and each not in JOINERS else each
        for each in str(text)
    )


def terminal_safe_lines(text: str) -> str:
    """The same, of a text of several lines."""
    return "\n".join(terminal_safe(line.expandtabs(4)) for line in text.splitlines())


def format_time(iso: str | None) -> str:
    """A moment of the API: ``2026-03-14 12:00 UTC``, or a dash."""
    return f"{datetime.fromisoformat(iso).astimezone(UTC):%Y-%m-%d %H:%M} UTC" if iso else "-"


def format_duration(seconds: float) -> str:
    """A span of time to wait: ``40 s``, ``4 min``, ``5 h 12 min``, ``3 d``."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    hours, rest = divmod(minutes, 60)
    return f"{hours} h {rest} min" if hours < 48 else f"{hours // 24} d"


def format_number(value: Any, digits: int = 2) -> str:
    """A measured number, or a dash."""
    return "-" if value is None else f"{value:.{digits}f}"
