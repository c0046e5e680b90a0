"""Stacked histogram of a track's memorization distances by label: labelled entries above the axis, unlabelled ones
below it. Positions are in per cent of the width: text keeps its size on a phone. Pure."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from api.rendering.charts.histogram import ticks_to
from api.rendering.charts.scales import AxisMark, Box
from scorer.submissions.labels import LABELS

UNLABELLED = "unlabelled"
STACKS = (*LABELS, UNLABELLED)
"""Upwards from the axis; unlabelled entries are below it."""
BINS = 80
MIN_RIGHT_EDGE = 1e-3
"""The smallest distance at the right edge; entries below it are all copies."""
TOP, AXIS, FLOOR = 26, 186, 266
"""In pixels: the top below a line of text, the axis below the labelled entries, the end of the unlabelled ones."""


@dataclass(frozen=True)
class Piece(Box):
    """The part of a column that belongs to one label."""

    label: str


@dataclass(frozen=True)
class Distribution:
    """``right`` is the distance at the right edge, ``step`` a small round step of tau."""

    pieces: Sequence[Piece]
    ticks: Sequence[AxisMark]
    counts: Sequence[tuple[str, int]]
    right: float
    step: float
    description: str

    def x(self, distance: float) -> float:
        """In per cent."""
        return min(100.0, 100.0 * distance / self.right)


def build_distribution(distances: NDArray[np.float64], labels: NDArray[np.int8], tau: float | None) -> Distribution:
    """Build the chart of a track's entries from distances (n,) and labels (n,) as indices into ``LABELS``, -1 for none.

    The axis includes ``tau``.
    """
    highest = max(float(distances.max(initial=MIN_RIGHT_EDGE)), tau or 0.0)
    step = _round_below(highest / 500)
    right = math.ceil(highest * 1.04 / step) * step
    edges = [right * index / BINS for index in range(BINS + 1)]
    column = np.minimum(BINS - 1, (distances / right * BINS).astype(np.int64))
    stack = np.where(labels < 0, len(LABELS), labels)
    columns = np.bincount(column * len(STACKS) + stack, minlength=BINS * len(STACKS)).reshape(BINS, len(STACKS))
    return Distribution(
        pieces=list(_pieces(columns.tolist(), edges, right)),
        ticks=ticks_to(right),
        counts=[(label, count) for label, count in zip(STACKS, columns.sum(axis=0).tolist(), strict=True) if count],
        right=round(right, 9),
        step=step,
        description=_described(distances, stack),
    )


def _round_below(value: float) -> float:
    """The largest value that is 1, 2 or 5 times a power of ten and at most ``value``."""
    power: float = 10.0 ** math.floor(math.log10(value))
    return max(factor * power for factor in (1, 2, 5) if factor * power <= value)


def _pieces(columns: Sequence[Sequence[int]], edges: Sequence[float], right: float) -> Iterable[Piece]:
    above = max(sum(labelled) for *labelled, _ in columns)
    below = max(unlabelled for *_, unlabelled in columns)
    # One scale for both sides makes their heights comparable.
    scale = min((AXIS - TOP) / max(above, 1), (FLOOR - AXIS) / max(below, 1))
    for (*labelled, unlabelled), (left, end) in zip(columns, pairwise(edges), strict=True):
        x = 100 * left / right
        width = 100 * (end - left) / right
        y = float(AXIS)
        for label, count in zip(LABELS, labelled, strict=True):
            if count:
                y -= count * scale
                yield Piece(x, width, y, count * scale, label)
        if unlabelled:
            yield Piece(x, width, AXIS, unlabelled * scale, UNLABELLED)


def _described(distances: NDArray[np.float64], stack: NDArray[np.int64]) -> str:
    parts = []
    for number, label in enumerate(STACKS):
        own = distances[stack == number]
        if len(own):
            middle = np.partition(own, len(own) // 2)[len(own) // 2]
            parts.append(
                f"{len(own):,} {label}, from {own.min():.3f} to {own.max():.3f}, half of them below {middle:.3f}"
            )
    return "Entries by memorization distance. " + ("; ".join(parts) + "." if parts else "There are no entries yet.")
