"""The errors of latent recovery as a drawing: a lane each for training images, fresh ones and the generator's own, on
one logarithmic axis. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from api.rendering.charts.scales import Scale, scale_around
from api.rendering.charts.shapes import AxisMark, anchor_of
from api.rendering.charts.strip_plot import HEIGHT, StripPlotRow, marks_of
from api.rendering.formatting import GROUPS
from scorer.metrics.copying.latent_recovery import VERBATIM

MIN_ERROR = 1e-4
"""Smaller errors are drawn as this one: nobody sees a difference between such images."""
TOP, BELOW, APART = 22, 24, 10
"""Pixels: the threshold's words above the lanes, the axis below them; its distance from the last lane."""


@dataclass(frozen=True)
class RecoveryErrorsChart:
    """All that the picture has in it; ``medians`` are positions in per cent, by lane."""

    lanes: Sequence[StripPlotRow]
    medians: Mapping[str, float]
    ticks: Sequence[AxisMark]
    verbatim: AxisMark
    floor: int
    height: int
    description: str


def recovery_errors_chart_of(report: Mapping[str, Mapping[str, Sequence[float]]]) -> RecoveryErrorsChart:
    """The drawing of ``report["errors"]``: the errors by group, each at least 0."""
    errors = {group: report["errors"][group] for group in GROUPS if group in report["errors"]}
    scale = scale_around(MIN_ERROR, max(VERBATIM, *(max(found) for found in errors.values())), log=True)
    floor = TOP + len(errors) * HEIGHT + APART
    return RecoveryErrorsChart(
        lanes=[
            StripPlotRow(
                group, len(found), TOP + place * HEIGHT, marks_of([_share(scale, each) for each in found], 1.0)
            )
            for place, (group, found) in enumerate(errors.items())
        ],
        medians={group: 100 * _share(scale, median(found)) for group, found in errors.items()},
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
    told = (
        f"{GROUPS[group]}: {len(found):,}, from {min(found):.3g} to {max(found):.3g}, half of them below"
        f" {median(found):.3g}"
        for group, found in errors.items()
    )
    return f"How far images are from the nearest that the generator makes. {'; '.join(told)}."
