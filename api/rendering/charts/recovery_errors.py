"""Histograms of the errors of latent recovery: one row for each kind of target, on one logarithmic axis. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import NamedTuple

from api.rendering.charts.scales import AxisMark, Scale, anchor_of
from api.rendering.formatting import GROUPS
from scorer.metrics.copying.latent_recovery import MIN_ERROR, VERBATIM, error_histogram

TOP, NAME, BARS, APART, BELOW = 22, 16, 30, 10, 24
"""Pixels: the height of the threshold's text above the rows, of a row's name and its bars, between them and the axis,
and of the axis below."""


class Bar(NamedTuple):
    """A bar: left end and width in per cent of the axis, height in pixels."""

    x: float
    width: float
    height: float


@dataclass(frozen=True)
class HistogramRow:
    """The bars of one kind of target, which stand on ``floor``; ``median`` is a position in per cent."""

    kind: str
    count: int
    floor: int
    bars: Sequence[Bar]
    median: float


@dataclass(frozen=True)
class RecoveryErrorsChart:
    """What the template draws."""

    rows: Sequence[HistogramRow]
    ticks: Sequence[AxisMark]
    verbatim: AxisMark
    floor: int
    height: int
    description: str


def recovery_errors_chart_of(report: Mapping[str, Mapping[str, Sequence[float]]]) -> RecoveryErrorsChart:
    """The chart of ``report["errors"]``: errors by kind of target, each at least 0."""
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
        ticks=[_tick(each, scale.share(each)) for each in scale.ticks()],
        verbatim=_limit(100 * scale.share(VERBATIM)),
        floor=floor,
        height=floor + BELOW,
        description=_described(errors),
    )


def _tick(error: float, share: float) -> AxisMark:
    text = f"≤ {error:g}" if error <= MIN_ERROR else f"{error:g}"
    return AxisMark(100 * share, text, anchor_of(share, start=0.1, end=0.95))


def _limit(x: float) -> AxisMark:
    return AxisMark(x, f"verbatim below {VERBATIM:g}", "end" if x > 50 else "start")


def _described(errors: Mapping[str, Sequence[float]]) -> str:
    parts = (
        f"{GROUPS[kind]}: {len(values):,}, from {min(values):.3g} to {max(values):.3g}, half of them below"
        f" {median(values):.3g}"
        for kind, values in errors.items()
    )
    return f"How far images are from the nearest that the generator makes. {'; '.join(parts)}."
