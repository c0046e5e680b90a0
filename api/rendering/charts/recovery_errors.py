"""Histograms of the errors of latent recovery: one row for each kind of target, on one logarithmic axis. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import NamedTuple

from api.rendering.charts.scales import AxisMark, Scale, choose_anchor
from api.rendering.formatting import GROUPS
from scorer.metrics.copying.latent_recovery import MIN_ERROR, VERBATIM, error_histogram

TOP, NAME, BARS, APART, BELOW = 22, 16, 30, 10, 24
"""Heights in pixels: the threshold's text above the rows, a row's name, its bars, the gap above the axis, the axis."""


class Bar(NamedTuple):
    """Left end and width are in per cent of the axis, the height is in pixels."""

    x: float
    width: float
    height: float


@dataclass(frozen=True)
class HistogramRow:
    """The bars of one kind of target. ``floor`` is their lower edge, ``median`` a position in per cent."""

    kind: str
    count: int
    floor: int
    bars: Sequence[Bar]
    median: float


@dataclass(frozen=True)
class RecoveryErrorsChart:
    rows: Sequence[HistogramRow]
    ticks: Sequence[AxisMark]
    verbatim: AxisMark
    floor: int
    height: int
    description: str


def build_recovery_errors_chart(report: Mapping[str, Mapping[str, Sequence[float]]]) -> RecoveryErrorsChart:
    """Build the chart of ``report["errors"]``: errors (at least 0) by kind of target."""
    errors = {kind: report["errors"][kind] for kind in GROUPS if kind in report["errors"]}
    histogram = error_histogram(errors)
    scale = Scale(histogram.edges[0], histogram.edges[-1], log=True)
    places = [100 * scale.share(edge) for edge in histogram.edges]
    rows = []
    for row, (kind, values) in enumerate(errors.items()):
        counts = histogram.counts[kind]
        bars = [
            Bar(left, right - left, BARS * count / max(counts))
            for (left, right), count in zip(pairwise(places), counts, strict=True)
            if count
        ]
        middle = 100 * scale.share(max(median(values), MIN_ERROR))
        rows.append(HistogramRow(kind, len(values), TOP + (row + 1) * (NAME + BARS), bars, middle))
    floor = TOP + len(errors) * (NAME + BARS) + APART
    return RecoveryErrorsChart(
        rows=rows,
        ticks=[_tick(tick, scale.share(tick)) for tick in scale.ticks()],
        verbatim=_limit(100 * scale.share(VERBATIM)),
        floor=floor,
        height=floor + BELOW,
        description=_described(errors),
    )


def _tick(error: float, share: float) -> AxisMark:
    text = f"≤ {error:g}" if error <= MIN_ERROR else f"{error:g}"
    return AxisMark(100 * share, text, choose_anchor(share, start=0.1, end=0.95))


def _limit(x: float) -> AxisMark:
    return AxisMark(x, f"verbatim below {VERBATIM:g}", "end" if x > 50 else "start")


def _described(errors: Mapping[str, Sequence[float]]) -> str:
    parts = (
        f"{GROUPS[kind]}: {len(values):,}, from {min(values):.3g} to {max(values):.3g}, half of them below"
        f" {median(values):.3g}"
        for kind, values in errors.items()
    )
    return f"Distances from images to the nearest image that the generator produces. {'; '.join(parts)}."
