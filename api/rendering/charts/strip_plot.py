"""Labelled entries by their memorization distance, a lane for each label, under the histogram of one entry. Pure."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import get_args

from api.rendering.formatting import DISTANCE_DECIMALS
from scorer.review.reviews import LabelName

PLACES = 200
"""Positions on the axis that can be told apart; entries at the same one are one mark, the more of them the stronger."""
MIN_STRENGTH = 0.4
HEIGHT = 32
"""Pixels of a lane: its name, and its marks below."""


@dataclass(frozen=True)
class StripPlotRow:
    """``marks`` are positions in per cent of the width with a strength of at most 1; ``top`` in pixels."""

    label: str
    count: int
    top: int
    marks: Sequence[tuple[float, float]]


@dataclass(frozen=True)
class StripPlot:
    """All lanes, and their height in pixels."""

    lanes: Sequence[StripPlotRow]
    height: int
    description: str


def strip_plot_of(labelled: Iterable[tuple[str, float]], right: float) -> StripPlot | None:
    """The lanes of (label, distance) on an axis from 0 to ``right``; None where nothing is labelled."""
    by_label: dict[str, list[float]] = {name: [] for name in get_args(LabelName)}
    for label, distance in labelled:
        by_label[label].append(distance)
    present = {label: distances for label, distances in by_label.items() if distances}
    if not present:
        return None
    lanes = [
        StripPlotRow(label, len(distances), index * HEIGHT, marks_of(distances, right))
        for index, (label, distances) in enumerate(present.items())
    ]
    told = (
        f"{label}: {len(distances):,}, from {min(distances):.{DISTANCE_DECIMALS}f} to"
        f" {max(distances):.{DISTANCE_DECIMALS}f}, half of them below {median(distances):.{DISTANCE_DECIMALS}f}"
        for label, distances in present.items()
    )
    return StripPlot(lanes, len(lanes) * HEIGHT, f"Labelled entries by their distance. {'; '.join(told)}.")


def marks_of(distances: Sequence[float], right: float) -> list[tuple[float, float]]:
    """Positions in per cent of an axis from 0 to ``right``, each with its strength: the more at one, the stronger."""
    at = Counter(min(round(PLACES * distance / right), PLACES) for distance in distances)
    most = max(at.values())
    return [
        (100 * place / PLACES, MIN_STRENGTH + (1 - MIN_STRENGTH) * count / most) for place, count in sorted(at.items())
    ]
