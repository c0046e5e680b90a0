"""Charts of the insight figures: their dots, bars, strips, lines and axes.

Horizontal positions are in per cent of the width: text keeps its size on a phone. Vertical positions are in pixels.
Pure.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from api.rendering.charts.captions import LABEL_NAMES, build_sentence, build_title
from api.rendering.charts.scales import AxisMark, Box, Scale, build_mark, choose_anchor, scale_around
from api.rendering.formatting import DISTANCE_DECIMALS
from scorer.insights import figures
from scorer.insights.figures import Figure

TOP, FLOOR, BELOW = 34, 330, 44
"""The ends of the vertical axis, and the height below it, in pixels."""


@dataclass(frozen=True)
class FigureBar(Box):
    """The part of a bar for one kind of entry; ``words`` is its tooltip."""

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
    """A row of dots; ``y`` is in pixels, the quartiles and the median are in per cent."""

    name: str
    y: float
    low: float
    high: float
    median: float


@dataclass(frozen=True)
class FigureLine:
    """A line with ``x`` in per cent and ``y`` in pixels."""

    x1: float
    y1: float
    x2: float
    y2: float
    kind: str


@dataclass(frozen=True)
class FigureChart:
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
    """(kind of entry, name, count)."""

    @property
    def floor(self) -> float:
        """The y coordinate of the axis, in pixels."""
        return self.height - BELOW


BINS = 48
FID_STRIP_HEIGHT = 58
MAX_LOG_RATIO = 1e6
"""The axis is linear if the largest value exceeds the smallest by more than this factor: a logarithmic axis would
mostly show the range near 0."""
MAX_DOTS = 3_000
"""If there are more entries, the chart shows this many, evenly chosen. Statistics include all entries."""


def build_figure_chart(figure: Figure) -> FigureChart | None:
    """None if the figure has no rows."""
    if not len(figure):
        return None
    chart = _CHARTS[figure.name](figure)
    return replace(chart, legend=_legend(figure), left_out=len(figure) - len(chart.dots) if chart.dots else 0)


def _legend(figure: Figure) -> list[tuple[str, str, int]]:
    if "label" not in figure.columns:
        return []
    kinds = _kinds(figure)
    counted = {kind: int(np.count_nonzero(kinds == kind)) for kind in LABEL_NAMES}
    return [(kind, words, counted[kind]) for kind, words in LABEL_NAMES.items() if counted[kind]]


def _kinds(figure: Figure) -> NDArray[np.object_]:
    """The kind of each row: ``plain`` for all if the viewer may not see labels."""
    if "label" not in figure.columns:
        return np.full(len(figure), "plain", object)
    labels = figure.column("label")
    kinds = labels.copy()
    kinds[labels == None] = "unlabelled"  # noqa: E711 - of every element
    return kinds


def _blank(figure: Figure, across: Scale, words: str, *, height: float = FLOOR + BELOW, down: str = "") -> FigureChart:
    shares = {at: across.share(at) for at in across.ticks()}
    return FigureChart(
        name=figure.name,
        title=build_title(figure),
        description=build_sentence(figure),
        height=height,
        across=words,
        down=down,
        x_ticks=[
            AxisMark(100 * share, f"{at:,g}", choose_anchor(share, start=0.04, end=0.96))
            for at, share in shares.items()
        ],
    )


def _distances(figure: Figure) -> FigureChart:
    values = figure.column("distance")
    kinds = _kinds(figure)
    across = Scale(0.0, max(float(values.max()), figure.tau or 0.0, 1e-6) * 1.04)
    edges = np.linspace(0.0, across.high, BINS + 1).tolist()
    counts = {kind: np.histogram(values[kinds == kind], edges)[0].tolist() for kind in LABEL_NAMES}
    columns = [{kind: counts[kind][column] for kind in LABEL_NAMES} for column in range(BINS)]
    down = Scale(0.0, max(sum(stack.values()) for stack in columns) * 1.08)
    return replace(
        _blank(figure, across, "memorization distance", down="entries"),
        bars=[
            bar
            for column, (low, high) in enumerate(pairwise(edges))
            for bar in _stack(columns[column], column, f"{low:.3f} to {high:.3f}", down=down)
        ],
        y_ticks=[tick for tick in _y_ticks(down) if "." not in tick.text],  # entries are whole numbers
        tau=None if figure.tau is None else build_mark("tau", figure.tau, across.share(figure.tau)),
    )


def _stack(counts: Mapping[str, int], column: int, where: str, *, down: Scale) -> list[FigureBar]:
    bars = []
    height = 0.0
    for kind, count in counts.items():
        if count:
            bar_height = down.share(count) * (FLOOR - TOP)
            height += bar_height
            words = f"{where}: {count:,} {LABEL_NAMES[kind]}"
            bars.append(FigureBar(100 * column / BINS, 100 / BINS, FLOOR - height, bar_height, kind, words))
    return bars


def _y_ticks(down: Scale) -> list[AxisMark]:
    return [AxisMark(_pixel(down, at), f"{at:,g}") for at in down.ticks() if down.share(at) < 0.97]


def _pixel(down: Scale, value: float) -> float:
    return FLOOR - down.share(value) * (FLOOR - TOP)


def _chosen(figure: Figure) -> list[int]:
    count = len(figure)
    return list(range(count)) if count <= MAX_DOTS else np.linspace(0, count - 1, MAX_DOTS).astype(int).tolist()


def _fid(figure: Figure) -> FigureChart:
    values = figure.column("fid")
    kinds = _kinds(figure)
    present = set(kinds.tolist())
    rows = {kind: place for place, kind in enumerate(kind for kind in LABEL_NAMES if kind in present)}
    across = _build_fid_scale(values)
    strips = []
    for kind, place in rows.items():
        of_kind = values[kinds == kind]
        low, median, high = (100 * across.share(quantile) for quantile in np.quantile(of_kind, (0.25, 0.5, 0.75)))
        strips.append(FidStrip(f"{LABEL_NAMES[kind]} ({len(of_kind):,})", _strip_middle(place), low, high, median))
    dots = [
        # Multiples of the golden ratio spread consecutive rows over the height of a strip.
        Dot(
            100 * across.share(float(values[row])),
            _strip_middle(rows[kinds[row]]) + (row * 0.618034 % 1 - 0.5) * 22,
            kinds[row],
            row,
        )
        for row in _chosen(figure)
    ]
    height = TOP + FID_STRIP_HEIGHT * len(rows) + BELOW
    return replace(_blank(figure, across, _worded("FID", across), height=height), dots=dots, strips=strips)


def _strip_middle(place: int) -> float:
    """The y coordinate, in pixels."""
    return TOP + FID_STRIP_HEIGHT * (place + 0.5) + 6


def _build_fid_scale(values: NDArray[np.float64]) -> Scale:
    """A logarithmic scale, or a linear one if the smallest value is 0 or almost 0 compared with the largest."""
    low, high = float(values.min()), float(values.max())
    return scale_around(low, high, log=0.0 < high < MAX_LOG_RATIO * low)


def _worded(words: str, scale: Scale) -> str:
    return f"{words} (log scale)" if scale.log else words


def _scatter(figure: Figure, x: str, y: str, *, scales: tuple[Scale, Scale], words: tuple[str, str]) -> FigureChart:
    across, down = scales
    kinds = _kinds(figure)
    left, up = figure.column(x), figure.column(y)
    dots = [
        Dot(100 * across.share(float(left[row])), _pixel(down, float(up[row])), kinds[row], row)
        for row in _chosen(figure)
    ]
    return replace(_blank(figure, across, words[0], down=words[1]), dots=dots, y_ticks=_y_ticks(down))


def _fid_distance(figure: Figure) -> FigureChart:
    across = _build_fid_scale(figure.column("fid"))
    values = figure.column("distance")
    down = Scale(0.0, max(float(values.max()), figure.tau or 0.0, 1e-6) * 1.06)
    chart = _scatter(
        figure, "fid", "distance", scales=(across, down), words=(_worded("FID", across), "memorization distance")
    )
    if figure.tau is None:
        return chart
    at = _pixel(down, figure.tau)
    return replace(
        chart, lines=[FigureLine(0, at, 100, at, "tau")], tau=AxisMark(at, f"tau {figure.tau:.{DISTANCE_DECIMALS}f}")
    )


def _shown_track(figure: Figure) -> FigureChart:
    name = figure.shown or ""
    column = figures.shown_column_name(name)
    values = figure.column(column)
    # If lower is better, as for FID, ratios matter: log scale. If higher is better, the metric has an upper bound.
    lower = figure.summary.statistics["better"] == "lower"
    down = _build_fid_scale(values) if lower else scale_around(float(values.min()), float(values.max()))
    across = _build_fid_scale(figure.column("fid"))
    return _scatter(figure, "fid", column, scales=(across, down), words=(_worded("FID", across), _worded(name, down)))


def _pair(figure: Figure, value: str, scale: Scale, *, words: str) -> FigureChart:
    chart = _scatter(
        figure,
        f"{value}_public",
        f"{value}_private",
        scales=(scale, scale),
        words=(_worded(f"public {words}", scale), _worded(f"final {words}", scale)),
    )
    return replace(chart, lines=[FigureLine(0, FLOOR, 100, TOP, "equal")])


def _public_private(figure: Figure) -> FigureChart:
    values = np.concatenate([figure.column("fid_public"), figure.column("fid_private")])
    return _pair(figure, "fid", _build_fid_scale(values), words="FID")


def _ranks(figure: Figure) -> FigureChart:
    return _pair(figure, "rank", scale_around(1, _last(figure)), words="rank by FID")


def _last(figure: Figure) -> float:
    """The last rank on either track, at least 2."""
    return float(max(figure.column("rank_public").max(), figure.column("rank_private").max(), 2))


def _shake_up(figure: Figure) -> FigureChart:
    chart = _pair(figure, "rank", scale_around(1, _last(figure), log=True), words="rank")
    moves = figure.column("move")
    return replace(chart, dots=[replace(dot, kind=_direction(moves[dot.row])) for dot in chart.dots])


def _direction(move: int) -> str:
    if move == 0:
        return "same"
    return "up" if move > 0 else "down"


_CHARTS: Mapping[str, Callable[[Figure], FigureChart]] = {
    "distances": _distances,
    "fid": _fid,
    "fid-distance": _fid_distance,
    "public-private": _public_private,
    "ranks": _ranks,
    "shake-up": _shake_up,
    figures.SHOWN_TRACK_FIGURE: _shown_track,
}
