"""Linear and logarithmic axes: positions of values, round ticks and labels; rectangles. Across, positions are
per cent of the width, so that text keeps its size on a phone; down, they are pixels. Pure.
"""

import math
from dataclasses import dataclass

from api.rendering.formatting import DISTANCE_DECIMALS

TICKS = 5
MANY = 500.0
"""A logarithmic axis over a larger factor has ticks at powers of ten only."""
PADDING = 0.04
"""Space on each side of the values, as a share of their span."""


@dataclass(frozen=True)
class Scale:
    """A linear axis from ``low`` to ``high``, or, if ``log``, a logarithmic one (then ``low`` is above 0)."""

    low: float
    high: float
    log: bool = False

    def share(self, value: float) -> float:
        """The position of a value: 0 at ``low``, 1 at ``high``."""
        low = self.low
        high = self.high
        at = value
        if self.log:
            low, high, at = math.log10(low), math.log10(high), math.log10(at)
        return (at - low) / (high - low)

    def ticks(self) -> list[float]:
        """Round values on the axis, in order."""
        return _powers(self.low, self.high) if self.log else round_ticks(self.low, self.high)


def scale_around(minimum: float, maximum: float, *, log: bool = False) -> Scale:
    """A scale for values from ``minimum`` to ``maximum``, with some padding on both sides."""
    if log:
        minimum, maximum = math.log10(minimum), math.log10(maximum)
    size = max(abs(maximum), 1.0)
    span = maximum - minimum
    if span < 1e-9 * size:  # nearly equal values: a span around them, so that they are in the middle
        span = 0.1 * size
    low = minimum - PADDING * span
    high = maximum + PADDING * span
    return Scale(10.0**low, 10.0**high, log=True) if log else Scale(low, high)


def round_ticks(low: float, high: float) -> list[float]:
    """About five round numbers from ``low`` to ``high``."""
    rough = (high - low) / TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough)
    return [round(step * at, 12) for at in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]


def _powers(low: float, high: float) -> list[float]:
    """1, 2 and 5 times the powers of ten; the powers alone where those are many."""
    exponents = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    factors = (1, 2, 5) if high / low < MANY else (1,)
    values = [factor * 10.0**exponent for exponent in exponents for factor in factors]
    return [value for value in values if low <= value <= high]


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


def mark_of(name: str, value: float, share: float) -> AxisMark:
    """A distance with its name, at a share (0 to 1) of the width; its text is on the side that has room."""
    return AxisMark(100 * share, f"{name} {value:.{DISTANCE_DECIMALS}f}", "start" if share < 0.6 else "end")


def anchor_of(share: float, *, start: float, end: float) -> str:
    """The ``text-anchor`` of a text at ``share`` (0 to 1) of the width that keeps it inside the chart: ``start`` below
    the share ``start``, ``end`` above the share ``end``, else ``middle``."""
    if share < start:
        return "start"
    return "end" if share > end else "middle"
