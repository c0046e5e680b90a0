"""Strip plot of labelled entries by memorization distance, one strip a label, below the histogram of an entry. Pure."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import get_args

from api.rendering.formatting import DISTANCE_DECIMALS
from scorer.review.reviews import LabelName

PLACES = 200
"""Distinct positions on the axis. Entries at the same one share a mark, whose opacity grows with their number."""
MIN_STRENGTH = 0.4
STRIP_HEIGHT = 32
"""Height of a strip in pixels: its name, and its marks below."""


@dataclass(frozen=True)
class StripPlotRow:
    """One strip: ``marks`` are (position in per cent of the width, opacity of at most 1); ``top`` is in pixels."""

    label: str
    count: int
    top: int
    marks: Sequence[tuple[float, float]]


@dataclass(frozen=True)
class StripPlot:
    """All strips, and their height in pixels."""

    strips: Sequence[StripPlotRow]
    height: int
    description: str


def strip_plot_of(labelled: Iterable[tuple[str, float]], right: float) -> StripPlot | None:
    """The chart of (label, distance) on an axis from 0 to ``right``; None without labelled entries."""
    by_label: dict[str, list[float]] = {name: [] for name in get_args(LabelName)}
    for label, distance in labelled:
        by_label[label].append(distance)
    present = {label: distances for label, distances in by_label.items() if distances}
    if not present:
        return None
    strips = [
        StripPlotRow(label, len(distances), index * STRIP_HEIGHT, marks_of(distances, right))
        for index, (label, distances) in enumerate(present.items())
    ]
    parts = (
        f"{label}: {len(distances):,}, from {min(distances):.{DISTANCE_DECIMALS}f} to"
        f" {max(distances):.{DISTANCE_DECIMALS}f}, half of them below {median(distances):.{DISTANCE_DECIMALS}f}"
        for label, distances in present.items()
    )
    return StripPlot(strips, len(strips) * STRIP_HEIGHT, f"Labelled entries by their distance. {'; '.join(parts)}.")


def marks_of(distances: Sequence[float], right: float) -> list[tuple[float, float]]:
    """(Position in per cent of an axis from 0 to ``right``, opacity) of each mark; opacity grows with the count."""
    at = Counter(min(round(PLACES * distance / right), PLACES) for distance in distances)
    max_count = max(at.values())
    return [
        (100 * place / PLACES, MIN_STRENGTH + (1 - MIN_STRENGTH) * count / max_count)
        for place, count in sorted(at.items())
    ]
