"""Canaries: planted values that must stay hidden, in every form in which they could appear."""

import re
from collections.abc import Collection
from dataclasses import dataclass
from math import floor, log10

DECIMALS = range(11)
MIN_DIGITS = 3
"""Numbers with fewer digits occur on pages by chance."""


@dataclass(frozen=True)
class Canary:
    """A planted value: its name, its kind, and its possible forms in lower case.

    The role ``owner`` may see it, regardless of its kind.
    """

    name: str
    kind: str
    forms: tuple[str, ...]
    owner: str | None = None
    pattern: re.Pattern[str] | None = None
    """A stricter pattern, for forms that could occur by chance."""

    def is_in(self, text: str) -> bool:
        """Whether a lower-case text contains it."""
        if not any(form in text for form in self.forms):
            return False
        return self.pattern is None or self.pattern.search(text) is not None


def text_canary(name: str, kind: str, text: str, owner: str | None = None) -> Canary:
    """A canary for a text that occurs nowhere by chance."""
    return Canary(name, kind, (text.lower(),), owner)


def number_canary(name: str, kind: str, value: float) -> Canary:
    """A canary for a number with all its digits, or rounded as on pages, with or without thousands separators.

    Digits inside a word, as in random tokens, do not count.
    """
    rounded = _forms(value)
    cut = repr(value)[:6]
    whole = [*(re.escape(form) + r"(?!\w)" for form in rounded), re.escape(cut) + r"\d"]
    return Canary(name, kind, _shortest((*rounded, cut)), pattern=re.compile(r"(?<![\w.])(?:" + "|".join(whole) + ")"))


def _forms(value: float) -> list[str]:
    decimals = [decimal for decimal in DECIMALS if _digits(value, decimal) >= MIN_DIGITS]
    whole = {f"{value:{parted}.{decimal}f}" for decimal in decimals for parted in ("", ",")}
    percent = {f"{100 * value:.{decimal}f}" for decimal in range(2, 6) if abs(value) < 1}
    return sorted(whole | percent | {f"{value:.3g}", f"{value:#.3g}"})


def _shortest(forms: Collection[str]) -> tuple[str, ...]:
    """The forms that contain no other form. A text without them contains none of the others."""
    return tuple(form for form in forms if not any(other in form for other in forms if other != form))


def _digits(value: float, decimals: int) -> int:
    return decimals + floor(log10(abs(value))) + 1


@dataclass(frozen=True)
class Leak:
    """A secret that a role saw."""

    role: str
    call: str
    where: str
    secret: str

    def __str__(self) -> str:
        return f"{self.role} sees {self.secret} in the {self.where} of {self.call}"
