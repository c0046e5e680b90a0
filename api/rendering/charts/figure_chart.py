"""The chart of an insight figure: its dots, bars, strips, lines and axes. Across, positions are per cent of the width,
so that text keeps its size on a phone; down, they are pixels. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from api.rendering.charts.shapes import AxisMark, Box

TOP, FLOOR, BELOW = 34, 330, 44
"""The upper and lower end of the axis down, and the height below it, in pixels."""


@dataclass(frozen=True)
class FigureBar(Box):
    """The part of a bar that belongs to one kind of entry; ``words`` is its tooltip."""

    kind: str
    words: str


@dataclass(frozen=True)
class Dot:
    """An entry; ``row`` is its index in the figure's data."""

    x: float
    y: float
    kind: str
    row: int


@dataclass(frozen=True)
class FidStrip:
    """A row of dots with its name, quartiles and median; ``y`` in pixels, the others in per cent."""

    name: str
    y: float
    low: float
    high: float
    median: float


@dataclass(frozen=True)
class FigureLine:
    """A line across the figure, ``x`` in per cent, ``y`` in pixels."""

    x1: float
    y1: float
    x2: float
    y2: float
    kind: str


@dataclass(frozen=True)
class FigureChart:
    """What the template draws of a figure."""

    name: str
    title: str
    description: str
    height: float
    across: str
    down: str
    x_ticks: Sequence[AxisMark] = ()
    y_ticks: Sequence[AxisMark] = ()
    bars: Sequence[FigureBar] = ()
    dots: Sequence[Dot] = ()
    strips: Sequence[FidStrip] = ()
    lines: Sequence[FigureLine] = ()
    tau: AxisMark | None = None
    left_out: int = 0
    legend: Sequence[tuple[str, str, int]] = ()
    """(kind of entry, its name, count)."""

    @property
    def floor(self) -> float:
        """The y of the axis, in pixels."""
        return self.height - BELOW
