"""Canaries: planted values that must not be seen, in every form in which they could appear."""

import re
from dataclasses import dataclass
from math import floor, log10

DECIMALS = range(11)
MIN_DIGITS = 3
"""A number of fewer digits says nothing: it stands on many a page."""


@dataclass(frozen=True)
class Canary:
    """A planted value: what it is called, what kind of thing it is, and how it looks, in lower case. ``owner`` is the
    one role that may see it whatever its kind."""

    name: str
    kind: str
    forms: tuple[str, ...]
    owner: str | None = None
    pattern: re.Pattern[str] | None = None
    """What a form must be part of, where it could be part of anything."""

    def is_in(self, text: str) -> bool:
        """Whether a text, in lower case, tells it."""
        if not any(form in text for form in self.forms):
            return False
        return self.pattern is None or self.pattern.search(text) is not None


def text_canary(name: str, kind: str, text: str, owner: str | None = None) -> Canary:
    """A text that stands nowhere by chance."""
    return Canary(name, kind, (text.lower(),), owner)


def number_canary(name: str, kind: str, value: float) -> Canary:
    """A number with all its digits, rounded as pages and sentences round, with its thousands parted or not. Digits
    within a word, as random tokens have them, say nothing."""
    rounded, cut = _forms(value), repr(value)[:6]
    whole = [*(re.escape(form) + r"(?!\w)" for form in rounded), re.escape(cut) + r"\d"]
    return Canary(name, kind, (*rounded, cut), pattern=re.compile(r"(?<![\w.])(?:" + "|".join(whole) + ")"))


def _forms(value: float) -> list[str]:
    decimals = [each for each in DECIMALS if _digits(value, each) >= MIN_DIGITS]
    whole = {f"{value:{parted}.{each}f}" for each in decimals for parted in ("", ",")}
    percent = {f"{100 * value:.{each}f}" for each in range(2, 6) if abs(value) < 1}
    return sorted(whole | percent | {f"{value:.3g}", f"{value:#.3g}"})


def _digits(value: float, decimals: int) -> int:
    return decimals + floor(log10(abs(value))) + 1


@dataclass(frozen=True)
class Leak:
    """A leak: who saw what, where."""

    role: str
    call: str
    where: str
    secret: str

    def __str__(self) -> str:
        return f"{self.role} sees {self.secret} in the {self.where} of {self.call}"
