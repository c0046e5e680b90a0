"""Charts of figures: every mark is at the position of its value, and inside the picture."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.rendering.charts import insight_figures
from api.rendering.charts.captions import CHOICES, LABEL_NAMES, TITLES, build_sentence, build_title
from api.rendering.charts.insight_figures import FLOOR, TOP, FigureChart, build_figure_chart
from api.rendering.charts.scales import Scale, round_ticks, scale_around
from scorer.insights import figures
from scorer.insights.figures import FIGURES, Figure, FigureSummary
from scorer.insights.overview import LABEL_FILTERS as LABELS
from scorer.lifecycle import TrackKind

LABEL = st.sampled_from([None, "legitimate", "mgan", "sup", "ae", "aug", "other"])
FID = st.floats(0, 1e6, allow_subnormal=False)
DISTANCE = st.floats(0, 2)
RANK = st.integers(1, 100_000)
ROWS: dict[str, Any] = {
    "distances": st.tuples(LABEL, FID, DISTANCE),
    "fid": st.tuples(LABEL, FID, DISTANCE),
    "fid-distance": st.tuples(LABEL, FID, DISTANCE),
    "public-private": st.tuples(LABEL, FID, FID),
    "ranks": st.tuples(LABEL, RANK, RANK),
    "shake-up": st.tuples(st.just("a team"), RANK, RANK),
}
COLUMNS = {
    "public-private": ("label", "fid_public", "fid_private"),
    "ranks": ("label", "rank_public", "rank_private"),
    "shake-up": ("team", "rank_public", "rank_private", "move"),
}
SUMMARY = {
    "pearson": 0.5, "spearman": None, "mean_rank_difference": 1.0, "leaders_in_common": 1, "mean_move": 2.0,
    "medals_in_common": 3,
}  # fmt: skip


def shown_figure(values: list[float], *, better: str = "lower", missing: int = 0) -> Figure:
    """The figure of a shown track with entries that have the FIDs 1, 2, 3, ..."""
    fids = np.arange(1.0, len(values) + 1)
    summary = {"metric": "KID", "extractor": "tiny@1", "better": better, "missing": missing, "count": len(values)}
    columns = ("fid", figures.shown_column_name("kid_2"))
    column_values = [fids, np.array(values, float)]
    return Figure(
        figures.SHOWN_TRACK_FIGURE,
        "public",
        "all",
        columns,
        column_values,
        lambda: FigureSummary(summary | SUMMARY, []),
        shown="kid_2",
    )


def figure(name: str, rows: list[Any], *, tau: float | None = None, labels: bool = True) -> Figure:
    """A figure with these rows."""
    columns = COLUMNS.get(name, ("label", "fid", "distance"))
    if name == "shake-up":
        rows = [(*row, row[1] - row[2]) for row in rows]
    elif not labels:
        columns = columns[1:]
        rows = [row[1:] for row in rows]
    track: TrackKind | None = None if name in COLUMNS else "private"
    values = [np.array(column) for column in zip(*rows, strict=True)] or [np.empty(0)] * len(columns)
    if "label" in columns:
        values[0] = np.array([row[0] for row in rows], object)
    summary = FigureSummary({"count": len(rows), **SUMMARY}, [])
    return Figure(name, track, "all", columns, values, lambda: summary, tau)


def drawn(figure: Figure) -> FigureChart:
    """The chart of a figure, which must have one."""
    drawing = build_figure_chart(figure)
    assert drawing is not None
    return drawing


def test_an_axis_of_counts_has_whole_numbers() -> None:
    chart = drawn(figure("distances", [("legitimate", 1.0, 0.1), (None, 1.0, 0.5)]))
    assert [tick.text for tick in chart.y_ticks] == ["0", "1"]


@pytest.mark.parametrize("name", FIGURES)
@given(st.data())
def test_every_mark_is_inside_the_picture(name: str, data: st.DataObject) -> None:
    rows = data.draw(st.lists(ROWS[name], min_size=1, max_size=30))
    tau = data.draw(st.none() | st.floats(0, 2))
    drawing = drawn(
        figure(name, rows, tau=tau if name in {"distances", "fid-distance"} else None, labels=data.draw(st.booleans()))
    )
    across = [
        *(mark.at for mark in drawing.x_ticks),
        *(dot.x for dot in drawing.dots),
        *(bar.x for bar in drawing.bars),
    ]
    across += [at for strip in drawing.strips for at in (strip.low, strip.median, strip.high)]
    down = [*(dot.y for dot in drawing.dots), *(mark.at for mark in drawing.y_ticks), *(bar.y for bar in drawing.bars)]
    assert all(-1e-6 <= at <= 100 + 1e-6 for at in across)
    assert all(TOP - 1e-6 <= at <= drawing.floor + 1e-6 for at in down)
    if name == "distances":
        assert sum(bar.height for bar in drawing.bars) > 0
    else:
        assert [dot.row for dot in drawing.dots] == list(range(len(rows)))
    assert len(drawing.x_ticks) <= 12
    assert drawing.description == build_sentence(
        figure(name, rows, tau=tau if name in {"distances", "fid-distance"} else None)
    )


@given(st.lists(st.tuples(LABEL, FID, DISTANCE), min_size=1, max_size=60))
def test_bars_are_stacked_and_count_every_entry(rows: list[Any]) -> None:
    drawing = drawn(figure("distances", rows))
    counted = 0
    by_column: dict[float, list[Any]] = {}
    for bar in drawing.bars:
        by_column.setdefault(bar.x, []).append(bar)
        counted += int(bar.words.split(": ")[1].split()[0].replace(",", ""))
    assert counted == len(rows)
    for stack in by_column.values():
        below = FLOOR
        for bar in stack:
            assert bar.y + bar.height == pytest.approx(below)
            below = bar.y


def test_a_dot_is_at_the_position_of_its_values() -> None:
    drawing = drawn(figure("fid-distance", [("mgan", 10.0, 0.1), (None, 1000.0, 0.4)], tau=0.2))
    near, far = drawing.dots
    assert (near.kind, far.kind) == ("mgan", "unlabelled")
    assert near.x < 5
    assert far.x > 95
    assert drawing.tau is not None
    assert near.y > drawing.tau.at > far.y
    assert drawing.legend == [("mgan", "memorising GAN", 1), ("unlabelled", "unlabelled", 1)]
    plain = drawn(figure("fid-distance", [("mgan", 10.0, 0.1)], labels=False))
    assert ([dot.kind for dot in plain.dots], plain.legend) == (["plain"], [])


@given(
    st.lists(st.floats(-1e6, 1e6, allow_subnormal=False), min_size=1, max_size=30), st.sampled_from(["lower", "higher"])
)
def test_any_numbers_of_a_shown_track_are_inside_the_picture(values: list[float], better: str) -> None:
    drawing = drawn(shown_figure(values, better=better))
    assert [dot.row for dot in drawing.dots] == list(range(len(values)))
    assert all(TOP - 1e-6 <= dot.y <= drawing.floor + 1e-6 for dot in drawing.dots)
    assert all(TOP - 1e-6 <= mark.at <= drawing.floor + 1e-6 for mark in drawing.y_ticks)


def test_divergences_have_a_log_scale_and_shares_a_linear_one() -> None:
    assert drawn(shown_figure([0.1, 1.0, 10.0])).down == "kid_2 (log scale)"
    assert drawn(shown_figure([-0.1, 1.0, 10.0])).down == "kid_2", "KID may be below 0"
    low, middle, high = drawn(shown_figure([0.0, 0.5, 1.0], better="higher")).dots
    assert low.y - middle.y == pytest.approx(middle.y - high.y)


def test_the_caption_of_a_shown_track_counts_missing_numbers() -> None:
    figure = shown_figure([0.1, 0.2], missing=3)
    assert build_title(figure) == "FID and kid_2, public track"
    assert build_sentence(figure) == (
        "kid_2: KID with tiny@1, lower is better. 2 entries. Pearson's correlation of FID and kid_2 is 0.500,"
        " Spearman's not defined. 3 more have no value for this metric."
    )
    assert build_sentence(shown_figure([])) == "Nothing to show yet."


def test_rises_and_falls_are_marked() -> None:
    drawing = drawn(figure("shake-up", [("a", 5, 1), ("b", 1, 5), ("c", 3, 3)]))
    assert [dot.kind for dot in drawing.dots] == ["up", "down", "same"]


def test_only_some_of_very_many_dots_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(insight_figures, "MAX_DOTS", 10)
    drawing = drawn(figure("fid", [(None, float(at + 1), 0.3) for at in range(100)]))
    assert (len(drawing.dots), drawing.left_out) == (10, 90)
    assert [dot.row for dot in drawing.dots] == list(range(0, 100, 11))
    assert drawing.strips[0].name == "unlabelled (100)"


def test_a_figure_without_entries_is_not_drawn() -> None:
    assert [build_figure_chart(figure(name, [])) for name in FIGURES] == [None] * len(FIGURES)


def test_every_figure_and_label_has_a_title() -> None:
    assert set(TITLES) == set(FIGURES)
    assert set(CHOICES) == set(LABELS)
    assert set(LABEL_NAMES) == {label or "unlabelled" for label in LABELS["all"]} | {"plain"}


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6))
def test_ticks_are_few_round_numbers_on_the_axis(low: float, span: float) -> None:
    ticks = round_ticks(low, low + span)
    assert 1 <= len(ticks) <= 11
    assert all(low - span * 1e-6 <= tick <= low + span * (1 + 1e-6) for tick in ticks)


@given(st.floats(1e-6, 1e6), st.floats(1, 1e6))
def test_a_log_scale_turns_factors_into_steps(low: float, factor: float) -> None:
    scale = scale_around(low, low * factor, log=True)
    assert scale.low < low <= low * factor < scale.high
    middle = (scale.low * scale.high) ** 0.5
    assert scale.share(middle) == pytest.approx(0.5, abs=1e-6)
    assert Scale(0, 4).share(1) == 0.25
