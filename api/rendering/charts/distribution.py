"""Stacked histogram of a track's memorization distances by label: labelled entries above the axis, unlabelled ones
below it. Positions are per cent of the width, so that text keeps its size on a phone. Pure."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from api.rendering.charts.histogram import ticks_of
from api.rendering.charts.shapes import AxisMark, Box
from scorer.tuning.what_if import WhatIfRow

LABELS = ("legitimate", "mgan", "sup", "ae", "aug", "other")
"""In the order of the stacks, from the axis up."""
UNLABELLED = "unlabelled"
BINS = 80
MIN_RIGHT_EDGE = 1e-3
"""The least distance at the right edge; entries below it are all copies."""
TOP, AXIS, FLOOR = 26, 186, 266
"""Pixels: below a line of text; the axis below the labelled entries; below the unlabelled ones."""


@dataclass(frozen=True)
class Piece(Box):
    """The part of a column that belongs to one label."""

    label: str


@dataclass(frozen=True)
class Distribution:
    """What the template draws. ``right`` is the distance at the right edge, ``step`` a fine round step of tau."""

    pieces: Sequence[Piece]
    ticks: Sequence[AxisMark]
    counts: Sequence[tuple[str, int]]
    right: float
    step: float
    description: str

    def x(self, distance: float) -> float:
        """The position of a distance, in per cent."""
        return min(100.0, 100.0 * distance / self.right)


def distribution_of(rows: Sequence[WhatIfRow], tau: float | None) -> Distribution:
    """The chart of a track's entries; the axis reaches ``tau``, too."""
    highest = max([row.distance for row in rows] + [tau or 0.0, MIN_RIGHT_EDGE])
    step = _round_below(highest / 500)
    right = math.ceil(highest * 1.04 / step) * step
    edges = [right * index / BINS for index in range(BINS + 1)]
    columns = [Counter[str]() for _ in range(BINS)]
    for row in rows:
        columns[min(BINS - 1, int(row.distance / right * BINS))][row.label or UNLABELLED] += 1
    counts = Counter(row.label or UNLABELLED for row in rows)
    return Distribution(
        pieces=list(_pieces(columns, edges, right)),
        ticks=[AxisMark(100 * at / right, f"{at:g}", "middle" if at else "start") for at in ticks_of(right)],
        counts=[(label, counts[label]) for label in (*LABELS, UNLABELLED) if counts[label]],
        right=round(right, 9),
        step=step,
        description=_described(rows),
    )


def _round_below(value: float) -> float:
    """The largest of 1, 2 and 5 times a power of ten that is no larger."""
    power: float = 10.0 ** math.floor(math.log10(value))
    return max(factor * power for factor in (1, 2, 5) if factor * power <= value)


def _pieces(columns: Sequence[Counter[str]], edges: Sequence[float], right: float) -> Iterable[Piece]:
    above = max((column.total() - column[UNLABELLED] for column in columns), default=0)
    below = max((column[UNLABELLED] for column in columns), default=0)
    # One scale for both sides, or their heights could not be compared.
    scale = min((AXIS - TOP) / max(above, 1), (FLOOR - AXIS) / max(below, 1))
    for column, (left, end) in zip(columns, pairwise(edges), strict=True):
        x = 100 * left / right
        width = 100 * (end - left) / right
        y = float(AXIS)
        for label in LABELS:
            if column[label]:
                y -= column[label] * scale
                yield Piece(x, width, y, column[label] * scale, label)
        if column[UNLABELLED]:
            yield Piece(x, width, AXIS, column[UNLABELLED] * scale, UNLABELLED)


def _described(rows: Sequence[WhatIfRow]) -> str:
    """The chart as text, for screen readers: each label with its smallest, middle and largest distance."""
    groups: dict[str, list[float]] = {}
    for row in rows:
        groups.setdefault(row.label or UNLABELLED, []).append(row.distance)
    parts = []
    for label in (*LABELS, UNLABELLED):
        distances = sorted(groups.get(label, ()))
        if distances:
            parts.append(
                f"{len(distances):,} {label}, from {distances[0]:.3f} to {distances[-1]:.3f}, half of them below"
                f" {distances[len(distances) // 2]:.3f}"
            )
    return "Entries by memorization distance. " + ("; ".join(parts) + "." if parts else "There are none yet.")
