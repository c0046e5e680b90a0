"""Rectangles and axis labels of charts. Across, positions are per cent of the width, so that text keeps its size on a
phone; down, they are pixels. Pure."""

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
    """A text at a position on an axis: ``at`` in per cent across, or in pixels down. ``anchor`` is SVG's
    ``text-anchor``."""

    at: float
    text: str
    anchor: str = "start"


def anchor_of(share: float, *, start: float, end: float) -> str:
    """The ``text-anchor`` of a text at ``share`` (0 to 1) of the width that keeps it inside the chart: ``start`` below
    the share ``start``, ``end`` above the share ``end``, else ``middle``."""
    if share < start:
        return "start"
    return "end" if share > end else "middle"
