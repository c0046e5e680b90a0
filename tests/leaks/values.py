"""Planted values that must not be seen, in every form in which they could be."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from math import floor, log10

DECIMALS = range(11)
FEWEST_DIGITS = 3
"""A number of fewer digits says nothing: it stands on many a page."""


@dataclass(frozen=True)
class Secret:
    """A planted value: what it is called, what kind of thing it is, and how it looks. ``owner`` is the one role that
    may see it whatever its kind."""

    name: str
    kind: str
    pattern: re.Pattern[str]
    owner: str | None = None

    def is_in(self, text: str) -> bool:
        """Whether the text tells it."""
        return self.pattern.search(text) is not None


def word(name: str, kind: str, text: str, owner: str | None = None) -> Secret:
    """A text that stands nowhere by chance."""
    return Secret(name, kind, re.compile(re.escape(text), re.IGNORECASE), owner)


def number(name: str, kind: str, value: float) -> Secret:
    """A number with all its digits, rounded as pages and sentences round, with its thousands parted or not."""
    return Secret(name, kind, re.compile(r"(?<![\d.])(?:" + "|".join(sorted(_forms(value))) + ")"))


def _forms(value: float) -> Iterator[str]:
    whole = {f"{value:.{decimals}f}" for decimals in DECIMALS if _digits(value, decimals) >= FEWEST_DIGITS}
    parted = {f"{value:,.{decimals}f}" for decimals in DECIMALS if _digits(value, decimals) >= FEWEST_DIGITS}
    percent = {f"{100 * value:.{decimals}f}" for decimals in range(2, 6) if abs(value) < 1}
    for form in whole | parted | percent | {f"{value:.3g}", f"{value:#.3g}"}:
        yield re.escape(form) + r"(?!\d)"
    # All digits but the last, and more behind them: however the number was cut.
    yield re.escape(repr(value)[:6]) + r"\d"


def _digits(value: float, decimals: int) -> int:
    return decimals + floor(log10(abs(value))) + 1


@dataclass(frozen=True)
class Found:
    """A leak: who saw what, where."""

    role: str
    call: str
    where: str
    secret: str

    def __str__(self) -> str:
        return f"{self.role} sees {self.secret} in the {self.where} of {self.call}"
