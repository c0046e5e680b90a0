"""Linear and logarithmic axes: positions of values, round ticks, labels and rectangles.

Horizontal positions are in per cent of the width: text keeps its size on a phone. Vertical positions are in pixels.
Pure.
"""

import math
from dataclasses import dataclass

from api.rendering.formatting import DISTANCE_DECIMALS

TICKS = 5
MANY = 500.0
"""A logarithmic axis that spans a larger factor has ticks at powers of ten only."""
PADDING = 0.04
"""Space on both sides of the values, as a share of their span."""


@dataclass(frozen=True)
class Scale:
    """An axis from ``low`` to ``high``; a logarithmic one needs ``low`` above 0."""

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
    """A scale for values from ``minimum`` to ``maximum``, padded on both sides."""
    if log:
        minimum, maximum = math.log10(minimum), math.log10(maximum)
    size = max(abs(maximum), 1.0)
    span = maximum - minimum
    if span < 1e-9 * size:  # nearly equal values are in the middle
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
    """1, 2 and 5 times the powers of ten, or only the powers if there are many."""
    exponents = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    factors = (1, 2, 5) if high / low < MANY else (1,)
    values = [factor * 10.0**exponent for exponent in exponents for factor in factors]
    return [value for value in values if low <= value <= high]


@dataclass(frozen=True)
class Box:
    """A rectangle with ``x`` and ``width`` in per cent, ``y`` (its upper edge) and ``height`` in pixels."""

    x: float
    width: float
    y: float
    height: float


@dataclass(frozen=True)
class AxisMark:
    """A text on an axis: ``at`` is in per cent on a horizontal axis, in pixels on a vertical one. ``anchor`` is SVG's
    ``text-anchor``."""

    at: float
    text: str
    anchor: str = "start"


def build_mark(name: str, value: float, share: float) -> AxisMark:
    """A distance with its name, at a share (0 to 1) of the width. The text is on the side with room for it."""
    return AxisMark(100 * share, f"{name} {value:.{DISTANCE_DECIMALS}f}", "start" if share < 0.6 else "end")


def choose_anchor(share: float, *, start: float, end: float) -> str:
    """The ``text-anchor`` that keeps a text at ``share`` (0 to 1) of the width inside the chart: ``start`` below the
    share ``start``, ``end`` above the share ``end``, otherwise ``middle``."""
    if share < start:
        return "start"
    return "end" if share > end else "middle"
