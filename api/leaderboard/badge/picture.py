"""Badges: a small SVG of two fields, a label and what it says, as pages elsewhere show them."""

from dataclasses import dataclass
from unicodedata import east_asian_width

from api.rendering.templates import render

MAX_LABEL_LENGTH = 40
LETTER, WIDE_LETTER, PADDING = 6.6, 12.0, 12.0
"""Pixels: of a letter of 11 px on average, of one of East Asian width, and beside a text."""


@dataclass(frozen=True)
class Field:
    """A text, its width in pixels without padding, and the middle of its field."""

    text: str
    width: float
    middle: float


def badge_svg(label: str, message: str, medal: str | None) -> str:
    """The badge; its right field has the colour of the ``medal``, if there is one."""
    short = label if len(label) <= MAX_LABEL_LENGTH else f"{label[: MAX_LABEL_LENGTH - 1]}…"
    left = _width_of(short) + PADDING
    right = _width_of(message) + PADDING
    fields = Field(short, left - PADDING, left / 2), Field(message, right - PADDING, left + right / 2)
    return render("leaderboard/badge/badge.svg", fields=fields, left=left, width=left + right, medal=medal)


def _width_of(text: str) -> float:
    return sum(WIDE_LETTER if east_asian_width(each) in "WF" else LETTER for each in text)
