"""What charts are made of: across, positions are per cent of the width, so that text keeps its size on a phone; down,
pixels. Pure."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Box:
    """A rectangle: ``x`` and ``width`` in per cent, ``y`` (its upper edge) and ``height`` in pixels."""

    x: float
    width: float
    y: float
    height: float


@dataclass(frozen=True)
class AxisMark:
    """A text beside a position: ``at`` in per cent across, or in pixels down. ``anchor`` is SVG's ``text-anchor``: on
    which side of it the text has room."""

    at: float
    text: str
    anchor: str = "start"


def anchor_of(share: float, *, start: float, end: float) -> str:
    """The ``text-anchor`` of a text at a share (0 to 1) of the width, so that it stays within the picture: below
    ``start`` it begins there, above ``end`` it ends there, between them it is centred."""
    if share < start:
        return "start"
    return "end" if share > end else "middle"
