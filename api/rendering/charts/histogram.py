"""Histogram of an entry's memorization distances, and a strip plot of labelled entries with one strip per label.

Positions are in per cent of the width: text keeps its size on a phone. Pure.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Any, get_args

from api.rendering.charts.scales import AxisMark, Box, build_mark, round_ticks
from api.rendering.formatting import DISTANCE_DECIMALS, counted
from scorer.review.reviews import LabelName

TOP, FLOOR = 44, 204
"""In pixels; there are two lines of labels above the bars."""
MIN_BAR_WIDTH = 0.6
"""In per cent. Equal distances give a single bar, which must stay visible."""


@dataclass(frozen=True)
class Bin(Box):
    """``near``: the middle of the bin is below tau."""

    near: bool


@dataclass(frozen=True)
class Histogram:
    """``max_count`` is the count of the highest bar."""

    bars: Sequence[Bin]
    ticks: Sequence[AxisMark]
    mean: AxisMark
    tau: AxisMark | None
    max_count: int
    right: float
    """The distance at the right end of the axis."""
    description: str


def build_histogram(
    counted: Mapping[str, Any], mean: float, tau: float | None, *, reach: float = 0.0
) -> Histogram | None:
    """Build the chart of ``counted["counts"]`` in equal bins from ``low`` to ``high``; None without counts.

    If ``tau`` is None or 0 (a benchmark entry is never penalised), the chart has no threshold. The axis extends at
    least to ``reach``.
    """
    counts: Sequence[int] = counted.get("counts", ())
    if not any(counts):
        return None
    low, high = float(counted["low"]), float(counted["high"])
    limit = tau or None
    right = max(high, mean, limit or 0.0, reach) * 1.04
    edges = [low + (high - low) * index / len(counts) for index in range(len(counts) + 1)]
    return Histogram(
        bars=_bars(counts, edges, right, tau=limit),
        ticks=ticks_to(right),
        mean=build_mark("mean", mean, mean / right),
        tau=None if limit is None else build_mark("tau", limit, limit / right),
        max_count=max(counts),
        right=right,
        description=_described(counts, edges, mean, tau=limit),
    )


def _bars(counts: Sequence[int], edges: Sequence[float], right: float, *, tau: float | None) -> list[Bin]:
    scale = (FLOOR - TOP) / max(counts)
    return [
        Bin(
            x=100 * left / right,
            width=max(100 * (end - left) / right, MIN_BAR_WIDTH),
            y=FLOOR - count * scale,
            height=count * scale,
            near=tau is not None and (left + end) / 2 < tau,
        )
        for count, (left, end) in zip(counts, pairwise(edges), strict=True)
        if count
    ]


def ticks_to(right: float) -> list[AxisMark]:
    return [AxisMark(100 * at / right, f"{at:g}", "middle" if at else "start") for at in round_ticks(0.0, right)]


def _described(counts: Sequence[int], edges: Sequence[float], mean: float, *, tau: float | None) -> str:
    fullest = max(range(len(counts)), key=counts.__getitem__)
    threshold = "there is no threshold" if tau is None else f"tau is {tau:.{DISTANCE_DECIMALS}f}"
    return (
        f"{sum(counts):,} images by their distance to the nearest reference image, from 0 to {edges[-1]:.3f}."
        f" The most common distances are from {edges[fullest]:.3f} to {edges[fullest + 1]:.3f}"
        f" ({counted(counts[fullest], 'image')}). The mean of all, the memorization distance, is"
        f" {mean:.{DISTANCE_DECIMALS}f}; {threshold}."
    )


PLACES = 200
"""Distinct positions on the axis. Entries at the same position share a mark; its opacity grows with their number."""
MIN_STRENGTH = 0.4
STRIP_HEIGHT = 32
"""In pixels: a strip's name with its marks below."""


@dataclass(frozen=True)
class StripPlotRow:
    """``marks`` are (position in per cent of the width, opacity up to 1); ``top`` is in pixels."""

    label: str
    count: int
    top: int
    marks: Sequence[tuple[float, float]]


@dataclass(frozen=True)
class StripPlot:
    """``height`` is in pixels."""

    strips: Sequence[StripPlotRow]
    height: int
    description: str


def build_strip_plot(labelled: Iterable[tuple[str, float]], right: float) -> StripPlot | None:
    """Build the chart of (label, distance) pairs on an axis from 0 to ``right``; None without labelled entries."""
    by_label: dict[str, list[float]] = {name: [] for name in get_args(LabelName)}
    for label, distance in labelled:
        by_label[label].append(distance)
    present = {label: distances for label, distances in by_label.items() if distances}
    if not present:
        return None
    strips = [
        StripPlotRow(label, len(distances), index * STRIP_HEIGHT, build_marks(distances, right))
        for index, (label, distances) in enumerate(present.items())
    ]
    parts = (
        f"{label}: {len(distances):,}, from {min(distances):.{DISTANCE_DECIMALS}f} to"
        f" {max(distances):.{DISTANCE_DECIMALS}f}, half of them below {median(distances):.{DISTANCE_DECIMALS}f}"
        for label, distances in present.items()
    )
    return StripPlot(strips, len(strips) * STRIP_HEIGHT, f"Labelled entries by their distance. {'; '.join(parts)}.")


def build_marks(distances: Sequence[float], right: float) -> list[tuple[float, float]]:
    """(position in per cent of an axis from 0 to ``right``, opacity) of each mark; opacity grows with the count."""
    at = Counter(min(round(PLACES * distance / right), PLACES) for distance in distances)
    max_count = max(at.values())
    return [
        (100 * place / PLACES, MIN_STRENGTH + (1 - MIN_STRENGTH) * count / max_count)
        for place, count in sorted(at.items())
    ]
