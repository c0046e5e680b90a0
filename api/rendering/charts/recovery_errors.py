"""Strip plot of the errors of latent recovery: one strip each for training images, held-out images and the generator's
own, on one logarithmic axis. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from api.rendering.charts.scales import Scale, scale_around
from api.rendering.charts.shapes import AxisMark, anchor_of
from api.rendering.charts.strip_plot import STRIP_HEIGHT, StripPlotRow, marks_of
from api.rendering.formatting import GROUPS
from scorer.metrics.copying.latent_recovery import VERBATIM

MIN_ERROR = 1e-4
"""Smaller errors are drawn as this one: the difference between such images is invisible."""
TOP, BELOW, APART = 22, 24, 10
"""Pixels: the height of the threshold's text above the strips, of the axis below them, and between strips and axis."""


@dataclass(frozen=True)
class RecoveryErrorsChart:
    """What the template draws; ``medians`` are positions in per cent, by group."""

    strips: Sequence[StripPlotRow]
    medians: Mapping[str, float]
    ticks: Sequence[AxisMark]
    verbatim: AxisMark
    floor: int
    height: int
    description: str


def recovery_errors_chart_of(report: Mapping[str, Mapping[str, Sequence[float]]]) -> RecoveryErrorsChart:
    """The chart of ``report["errors"]``: errors by image group, each at least 0."""
    errors = {group: report["errors"][group] for group in GROUPS if group in report["errors"]}
    scale = scale_around(MIN_ERROR, max(VERBATIM, *map(max, errors.values())), log=True)
    floor = TOP + len(errors) * STRIP_HEIGHT + APART
    return RecoveryErrorsChart(
        strips=[
            StripPlotRow(
                group, len(values), TOP + place * STRIP_HEIGHT, marks_of([_share(scale, each) for each in values], 1.0)
            )
            for place, (group, values) in enumerate(errors.items())
        ],
        medians={group: 100 * _share(scale, median(values)) for group, values in errors.items()},
        ticks=[_tick(each, scale.share(each)) for each in scale.ticks()],
        verbatim=_limit(100 * scale.share(VERBATIM)),
        floor=floor,
        height=floor + BELOW,
        description=_described(errors),
    )


def _share(scale: Scale, error: float) -> float:
    return scale.share(max(error, MIN_ERROR))


def _tick(error: float, share: float) -> AxisMark:
    return AxisMark(100 * share, _tick_text(error), anchor_of(share, start=0.1, end=0.95))


def _tick_text(error: float) -> str:
    return f"≤ {error:g}" if error <= MIN_ERROR else f"{error:g}"


def _limit(x: float) -> AxisMark:
    return AxisMark(x, f"verbatim below {VERBATIM:g}", "end" if x > 50 else "start")


def _described(errors: Mapping[str, Sequence[float]]) -> str:
    parts = (
        f"{GROUPS[group]}: {len(values):,}, from {min(values):.3g} to {max(values):.3g}, half of them below"
        f" {median(values):.3g}"
        for group, values in errors.items()
    )
    return f"How far images are from the nearest that the generator makes. {'; '.join(parts)}."
