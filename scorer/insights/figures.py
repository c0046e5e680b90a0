"""The figures of Bai et al. 2021 from a competition's current state, as data with their statistics.

These are correlations, quantiles by label, and how well distances separate memorising entries from others. For shown
tracks, there is also how their order compares with the FID of a ranked track.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import cached_property, partial
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy.orm import Session

from scorer.competitions.competition_state import require_results
from scorer.db.leaderboard import board_details
from scorer.db.leaderboard.shown_tracks import values_on
from scorer.db.tables import Account, ShownTrack
from scorer.errors import KennelError
from scorer.insights.overview import LABEL_FILTERS, InsightsData, TrackColumns
from scorer.leaderboard.rows import load_ranked_board
from scorer.lifecycle import TRACK_KINDS, TrackKind
from scorer.metrics.features import Vector
from scorer.metrics.metric_catalogue import METRICS
from scorer.metrics.statistics.correlation import (
    leaders_in_common,
    mean_rank_difference,
    pearson,
    quantiles,
    ranks,
    spearman,
)
from scorer.metrics.statistics.threshold_selection import LabelledDistances
from scorer.submissions.labels import LABELS, MEMORISES
from scorer.tuning.thresholds import choice_as_json

MEMORISING_BY_NUMBER = np.array([MEMORISES.get(label, np.nan) for label in (*LABELS, "")], np.float64)
"""1 for labels that mean memorisation, 0 for others, nan if unknown."""
METHODS = ("margin", "accuracy", "otsu", "paper")


class FigureSummary(NamedTuple):
    """Statistics over all rows. ``groups`` has the number of entries of each label, and the quantiles of the figure's
    first value."""

    statistics: Mapping[str, Any]
    groups: Sequence[Mapping[str, Any]]


def compute_correlations(values: Vector, others: Vector) -> dict[str, Any]:
    return {"spearman": spearman(values, others), "pearson": pearson(values, others)}


def groups_by_label(data: InsightsData, entries: TrackColumns, values: Vector) -> list[Mapping[str, Any]]:
    """Count, mean, deviation and quantiles of the entries' values, for each label filter that any entry passes."""
    if not data.labels:
        return []
    groups: list[Mapping[str, Any]] = []
    for name in LABEL_FILTERS:
        group = values[entries.with_label(name)]
        if len(group):
            deviation = float(group.std(ddof=1)) if len(group) > 1 else None
            groups.append(
                {"label": name, "count": len(group), "mean": float(group.mean()), "deviation": deviation}
                | quantiles(group)
            )
    return groups


def compute_separation(data: InsightsData, track: TrackKind) -> dict[str, Any]:
    """How well distances separate memorising from legitimate submissions, and each method's choice of threshold."""
    entries, tau = data.by_track[track], data.taus[track]
    if not data.labels or not len(entries.refs):
        return {}
    distances = LabelledDistances(entries.distance, MEMORISING_BY_NUMBER[entries.labels])
    methods: dict[str, Any] = {}
    for method in METHODS if tau is None else (*METHODS, "manual"):
        try:
            choice = distances.choose(method, tau=tau)
        except KennelError as error:
            methods[method] = {"tau": None, "why": error.message}
            continue
        methods[method] = {"tau": choice.tau, **{key: choice_as_json(choice)[key] for key in ("interval", "confusion")}}
    statistics = choice_as_json(distances.choose("paper"))
    names = ("memorization_margin", "relative_variance", "auc", "cohens_d")
    return {name: statistics[name] for name in names} | {"methods": methods}


Transaction = Callable[[], AbstractContextManager[Session]]
NameColumns = Callable[[Session, Mapping[str, list[Any]]], Mapping[str, list[Any]]]
LABEL_BY_NUMBER = np.array([*LABELS, None], object)
"""Labels by their numbers (:attr:`TrackColumns.labels`); -1 means none."""
ROWS_AT_A_TIME = 5_000
LEADERS, TOP = 5, 100


@dataclass(frozen=True)
class Figure:
    """A figure as data: a row per submission (for the shake-up, per team), and a summary of all rows."""

    name: str
    track: TrackKind | None
    label: str
    columns: Sequence[str]
    values: Sequence[NDArray[Any]]
    """One array of shape (n,) per column. Submissions and teams that get their names later are refs and ids here."""
    summarise: Callable[[], FigureSummary]
    """Computes the summary, which takes longer than everything else."""
    tau: float | None = None
    shown: str | None = None
    """The name of the shown track with these numbers."""
    named: NameColumns | None = None
    """Returns the columns of names for some rows, given by column; None if there are no names."""

    @cached_property
    def summary(self) -> FigureSummary:
        return self.summarise()

    def __len__(self) -> int:
        return len(self.values[0])

    def column(self, name: str) -> NDArray[Any]:
        return self.values[self.columns.index(name)]

    def rows(self, begin: Transaction) -> Iterator[list[tuple[Any, ...]]]:
        """All rows, a few thousand at a time, with None for nan, which JSON lacks. Each part reads its names in its own
        transaction, because the receiver may be slow."""
        for start in range(0, len(self), ROWS_AT_A_TIME):
            part = {
                name: _plain(column[start : start + ROWS_AT_A_TIME])
                for name, column in zip(self.columns, self.values, strict=True)
            }
            if self.named is not None:
                with begin() as session:
                    part |= self.named(session, part)
            yield list(zip(*(part[name] for name in self.columns), strict=True))


def _plain(values: NDArray[Any]) -> list[Any]:
    plain: list[Any] = values.tolist()
    if values.dtype.kind == "f" and np.isnan(values).any():
        return [None if math.isnan(value) else value for value in plain]
    return plain


def figure(session: Session, data: InsightsData, name: str, *, track: TrackKind, account: Account | None) -> Figure:
    """One figure. ``track`` only matters for figures of a single track. ``Forbidden`` before the final board is
    published for figures that need the private track."""
    if name in PAIRED:
        require_results(data.state, "private", account)
        return PAIRED[name](session, data)
    require_results(data.state, track, account)
    return SINGLE[name](data, track)


def _entry_name_columns() -> NameColumns:
    """Reads names for one pass over a figure. Each team's name is read once, because a join would read all teams for
    each part."""
    names: dict[int, str] = {}

    def columns(session: Session, part: Mapping[str, list[Any]]) -> Mapping[str, list[Any]]:
        entries = board_details.load_ids_and_teams(session, part["entry"])
        names.update(board_details.load_team_names(session, {team for _, team in entries.values()} - names.keys()))
        rows = [entries[ref] for ref in part["entry"]]
        return {"entry": [entry for entry, _ in rows], "team": [names[team] for _, team in rows]}

    return columns


def _team_name_columns(session: Session, part: Mapping[str, list[Any]]) -> Mapping[str, list[Any]]:
    names = board_details.load_team_names(session, part["team"])
    return {"team": [names[team] for team in part["team"]]}


def _build_figure(
    data: InsightsData,
    name: str,
    entries: TrackColumns,
    *,
    numbers: Mapping[str, NDArray[Any]],
    summarise: Callable[[], FigureSummary],
    track: TrackKind | None = None,
) -> Figure:
    """A figure of submissions: their names and labels, if these may be shown, and their numbers by column."""
    columns: dict[str, NDArray[Any]] = {}
    if data.names:
        columns |= {"entry": entries.refs, "team": entries.refs}
    if data.labels:
        columns["label"] = LABEL_BY_NUMBER[entries.labels]
    columns |= numbers
    return Figure(
        name=name,
        track=track,
        label=data.label,
        columns=list(columns),
        values=list(columns.values()),
        summarise=summarise,
        tau=None if track is None else data.taus[track],
        named=_entry_name_columns() if data.names else None,
    )


def _score_columns(entries: TrackColumns) -> dict[str, NDArray[Any]]:
    return {name: getattr(entries, name) for name in ("fid", "distance", "score", "penalised")}


def _summary_by_label(
    data: InsightsData, entries: TrackColumns, values: Vector, *, statistics: Callable[[], Mapping[str, Any]]
) -> Callable[[], FigureSummary]:
    """A function that computes a summary with quantiles of the entries' ``values`` by label."""
    return lambda: FigureSummary({"count": len(values), **statistics()}, groups_by_label(data, entries, values))


def _build_track_figure(
    data: InsightsData, name: str, track: TrackKind, *, value: str, statistics: Callable[[], Mapping[str, Any]]
) -> Figure:
    """A figure of one track's submissions. ``value`` is the column that gets quantiles by label."""
    entries = data.by_track[track]
    summarise = _summary_by_label(data, entries, getattr(entries, value), statistics=statistics)
    return _build_figure(data, name, entries, numbers=_score_columns(entries), summarise=summarise, track=track)


def _distances(data: InsightsData, track: TrackKind) -> Figure:
    return _build_track_figure(
        data, "distances", track, value="distance", statistics=partial(compute_separation, data, track)
    )


def _fid(data: InsightsData, track: TrackKind) -> Figure:
    return _build_track_figure(data, "fid", track, value="fid", statistics=dict)


def _fid_distance(data: InsightsData, track: TrackKind) -> Figure:
    entries = data.by_track[track]

    def statistics() -> Mapping[str, Any]:
        top = np.argsort(entries.fid, kind="stable")[:TOP]
        lowest = pearson(entries.fid[top], entries.distance[top])
        return compute_correlations(entries.fid, entries.distance) | {"pearson_of_the_lowest_100_fids": lowest}

    return _build_track_figure(data, "fid-distance", track, value="fid", statistics=statistics)


def _both(data: InsightsData) -> tuple[TrackColumns, TrackColumns]:
    """The submissions measured on both tracks, in the same order."""
    public, private = (data.by_track[kind] for kind in TRACK_KINDS)
    _, left, right = np.intersect1d(public.refs, private.refs, assume_unique=True, return_indices=True)
    return public.where(left), private.where(right)


def _public_private(_: Session, data: InsightsData) -> Figure:
    public, private = _both(data)
    numbers = {"fid_public": public.fid, "fid_private": private.fid}
    summarise = _summary_by_label(data, public, public.fid, statistics=partial(compute_correlations, *numbers.values()))
    return _build_figure(data, "public-private", public, numbers=numbers, summarise=summarise)


def _ranks(_: Session, data: InsightsData) -> Figure:
    public, private = _both(data)

    def statistics() -> Mapping[str, Any]:
        return {
            "mean_rank_difference": mean_rank_difference(public.fid, private.fid),
            "leaders_in_common": leaders_in_common(public.fid, private.fid, LEADERS),
        }

    numbers = {"rank_public": ranks(public.fid), "rank_private": ranks(private.fid)}
    summarise = _summary_by_label(data, public, numbers["rank_public"], statistics=statistics)
    return _build_figure(data, "ranks", public, numbers=numbers, summarise=summarise)


def _shake_up(session: Session, data: InsightsData) -> Figure:
    """Ranks of the teams that are on both boards. Labels belong to submissions, so the label filter does not apply."""
    boards = [load_ranked_board(session, data.state, kind) for kind in TRACK_KINDS]
    public, private = boards
    teams = private.judged.team[private.rows]
    public_rank = public.find_ranks(teams)
    after = np.flatnonzero(public_rank) + 1
    before = public_rank[after - 1]
    last = data.state.competition.medals.get("bronze", 0)

    def summarise() -> FigureSummary:
        statistics = {
            "count": len(after),
            "mean_move": float(np.mean(np.abs(after - before))) if len(after) else None,
            "leaders_in_common": int(np.count_nonzero((before <= LEADERS) & (after <= LEADERS))),
            "medals_in_common": int(np.count_nonzero((before <= last) & (after <= last))),
            "spearman": spearman(before, after),
        }
        return FigureSummary(statistics, [])

    columns = ("team", "rank_public", "rank_private", "move")
    values = (teams[after - 1], before, after, before - after)
    return Figure("shake-up", None, "all", columns, values, summarise, named=_team_name_columns)


SINGLE: Mapping[str, Callable[[InsightsData, TrackKind], Figure]] = MappingProxyType(
    {"distances": _distances, "fid": _fid, "fid-distance": _fid_distance}
)
PAIRED: Mapping[str, Callable[[Session, InsightsData], Figure]] = MappingProxyType(
    {"public-private": _public_private, "ranks": _ranks, "shake-up": _shake_up}
)
FIGURES = (*SINGLE, *PAIRED)
"""Every figure: first those of one track, then those that compare both."""


SHOWN_TRACK_FIGURE = "shown-track"


def shown_column_name(name: str) -> str:
    """As on boards."""
    return f"shown_{name}"


def shown_track_figure(
    session: Session, data: InsightsData, shown: ShownTrack, *, track: TrackKind, account: Account | None
) -> Figure:
    """FIDs on a track, and values on a shown track, for the entries with such a value.

    The account must be allowed to see the shown track. ``Forbidden`` as for :func:`scorer.insights.figures.figure` for
    the other track.
    """
    require_results(data.state, track, account)
    entries = data.by_track[track]
    measured = values_on(session, shown.id)
    values = np.array([measured.get(ref, np.nan) for ref in entries.refs.tolist()], np.float64)
    has_one = ~np.isnan(values)
    entries, values = entries.where(has_one), values[has_one]
    metric = METRICS[shown.metric]

    def summarise() -> FigureSummary:
        statistics = {
            "count": len(values),
            "metric": metric.title,
            "extractor": shown.extractor,
            "better": metric.direction,
            "missing": int(np.count_nonzero(~has_one)),
            "pearson": pearson(entries.fid, values),
            "spearman": spearman(entries.fid, values),
        }
        return FigureSummary(statistics, [])

    numbers = _score_columns(entries) | {shown_column_name(shown.name): values}
    drawn = _build_figure(data, SHOWN_TRACK_FIGURE, entries, numbers=numbers, summarise=summarise, track=track)
    return replace(drawn, shown=shown.name, tau=None)
