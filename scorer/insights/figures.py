"""The figures of Bai et al. 2021 from a competition's current state, as data with their statistics."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from sqlalchemy.orm import Session

from scorer.competitions.competition_state import visible_track
from scorer.db.leaderboard import board
from scorer.db.tables import Account
from scorer.errors import KennelError
from scorer.insights.overview import LABEL_FILTERS, InsightsData, TrackColumns
from scorer.leaderboard.rows import rows_of
from scorer.lifecycle import TRACK_KINDS, TrackKind
from scorer.metrics.features import Vector
from scorer.metrics.statistics.correlation import (
    leaders_in_common,
    mean_rank_difference,
    pearson,
    quantiles,
    ranks,
    spearman,
)
from scorer.metrics.statistics.threshold_selection import choose_tau
from scorer.submissions.labels import MEMORISES
from scorer.tuning.thresholds import choice_as_json

METHODS = ("margin", "accuracy", "otsu", "paper")
LEADERS = 5
TOP = 100


@dataclass(frozen=True)
class Figure:
    """A figure as data: one row per submission (per team, for the shake-up), and statistics over all rows.

    ``groups``: for each label the number of submissions and the quantiles of the figure's first value.
    """

    name: str
    track: TrackKind | None
    label: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    statistics: Mapping[str, Any]
    groups: Sequence[Mapping[str, Any]]
    tau: float | None = None

    def column(self, name: str) -> list[Any]:
        """All values of a column."""
        index = self.columns.index(name)
        return [row[index] for row in self.rows]


def figure(session: Session, data: InsightsData, name: str, track: TrackKind, account: Account | None) -> Figure:
    """One figure; ``track`` matters only for figures of a single track. ``Forbidden`` before publication for figures
    that need the private track."""
    if name in PAIRED:
        visible_track(data.state, "private", account)
        return PAIRED[name](session, data)
    visible_track(data.state, track, account)
    return SINGLE[name](data, track)


def _single(data: InsightsData, name: str, track: TrackKind, value: str, statistics: Mapping[str, Any]) -> Figure:
    entries = data.by_track[track]
    columns, values = _identity(data, entries)
    columns += ["fid", "distance", "score", "penalised"]
    values += [entries.fid.tolist(), entries.distance.tolist(), _plain(entries.score), entries.penalised.tolist()]
    return Figure(
        name=name,
        track=track,
        label=data.label,
        columns=columns,
        rows=list(zip(*values, strict=True)),
        statistics={"count": len(entries.refs), **statistics},
        groups=_groups(data, entries, getattr(entries, value)),
        tau=data.taus[track],
    )


def _plain(values: Vector) -> list[float | None]:
    """The values with None for nan, which JSON lacks."""
    return [None if np.isnan(value) else float(value) for value in values]


def _identity(data: InsightsData, entries: TrackColumns) -> tuple[list[str], list[list[Any]]]:
    columns: list[str] = []
    values: list[list[Any]] = []
    if data.names:
        columns, values = ["entry", "team"], [entries.ids.tolist(), entries.teams.tolist()]
    if data.labels:
        columns, values = [*columns, "label"], [*values, entries.labels.tolist()]
    return columns, values


def _groups(data: InsightsData, entries: TrackColumns, values: Vector) -> list[Mapping[str, Any]]:
    if not data.labels:
        return []
    groups: list[Mapping[str, Any]] = []
    for name, labels in LABEL_FILTERS.items():
        group = values[np.array([label in labels for label in entries.labels], dtype=bool)]
        summary = quantiles(group)
        if summary is not None:
            deviation = float(group.std(ddof=1)) if len(group) > 1 else None
            groups.append(
                {"label": name, "count": len(group), "mean": float(group.mean()), "deviation": deviation}
                | asdict(summary)
            )
    return groups


def _distances(data: InsightsData, track: TrackKind) -> Figure:
    entries = data.by_track[track]
    return _single(data, "distances", track, "distance", _separation(data, entries, data.taus[track]))


def _separation(data: InsightsData, entries: TrackColumns, tau: float | None) -> dict[str, Any]:
    """How well distances separate memorising from legitimate submissions, and each method's choice of threshold."""
    if not data.labels or not len(entries.refs):
        return {}
    memorised = [MEMORISES.get(label or "") for label in entries.labels]
    methods: dict[str, Any] = {}
    for method in METHODS if tau is None else (*METHODS, "manual"):
        try:
            choice = choose_tau(entries.distance, memorised, method, tau=tau)
        except KennelError as error:
            methods[method] = {"tau": None, "why": error.message}
            continue
        methods[method] = {"tau": choice.tau, **{key: choice_as_json(choice)[key] for key in ("interval", "confusion")}}
    statistics = choice_as_json(choose_tau(entries.distance, memorised, "paper"))
    names = ("memorization_margin", "relative_variance", "auc", "cohens_d")
    return {name: statistics[name] for name in names} | {"methods": methods}


def _fid(data: InsightsData, track: TrackKind) -> Figure:
    return _single(data, "fid", track, "fid", {})


def _fid_distance(data: InsightsData, track: TrackKind) -> Figure:
    entries = data.by_track[track]
    top = np.argsort(entries.fid, kind="stable")[:TOP]
    statistics = {
        "pearson": pearson(entries.fid, entries.distance),
        "spearman": spearman(entries.fid, entries.distance),
        "pearson_of_the_lowest_100_fids": pearson(entries.fid[top], entries.distance[top]),
    }
    return _single(data, "fid-distance", track, "fid", statistics)


def _both(data: InsightsData) -> tuple[TrackColumns, TrackColumns]:
    """The submissions measured on both tracks, in the same order."""
    public, private = (data.by_track[kind] for kind in TRACK_KINDS)
    _, left, right = np.intersect1d(public.refs, private.refs, assume_unique=True, return_indices=True)
    return public.where(left), private.where(right)


def _public_private(_: Session, data: InsightsData) -> Figure:
    public, private = _both(data)
    statistics = {"spearman": spearman(public.fid, private.fid), "pearson": pearson(public.fid, private.fid)}
    return _paired(data, "public-private", (public, private), "fid", (public.fid, private.fid), statistics)


def _ranks(_: Session, data: InsightsData) -> Figure:
    public, private = _both(data)
    statistics = {
        "mean_rank_difference": mean_rank_difference(public.fid, private.fid),
        "leaders_in_common": leaders_in_common(public.fid, private.fid, LEADERS),
    }
    values = ranks(public.fid), ranks(private.fid)
    return _paired(data, "ranks", (public, private), "rank", values, statistics)


def _paired(
    data: InsightsData,
    name: str,
    both: tuple[TrackColumns, TrackColumns],
    value: str,
    values: tuple[Vector, Vector],
    statistics: Mapping[str, Any],
) -> Figure:
    columns, identity = _identity(data, both[0])
    return Figure(
        name=name,
        track=None,
        label=data.label,
        columns=[*columns, *(f"{value}_{kind}" for kind in TRACK_KINDS)],
        rows=list(zip(*identity, *(column.tolist() for column in values), strict=True)),
        statistics={"count": len(values[0]), **statistics},
        groups=_groups(data, both[0], values[0]),
    )


def _shake_up(session: Session, data: InsightsData) -> Figure:
    """Ranks of the teams that are on both boards. Labels are of submissions, so the label filter does not apply."""
    competition = data.state.competition
    tracks = data.state.tracks
    public, private = (rows_of(session, competition, tracks, kind).page(0, None) for kind in TRACK_KINDS)
    public_ranks = {row.team_id: row.rank or 0 for row in public}
    names = board.team_names(session, competition.id)
    rows = [
        (names[row.team_id], public_ranks[row.team_id], row.rank, public_ranks[row.team_id] - row.rank)
        for row in private
        if row.team_id in public_ranks and row.rank is not None
    ]
    before, after = [row[1] for row in rows], [row[2] for row in rows]
    last = data.state.competition.medals.get("bronze", 0)
    statistics = {
        "count": len(rows),
        "mean_move": float(np.mean(np.abs(np.subtract(after, before)))) if rows else None,
        "leaders_in_common": sum(row[1] <= LEADERS and row[2] <= LEADERS for row in rows),
        "medals_in_common": sum(row[1] <= last and row[2] <= last for row in rows),
        "spearman": spearman(before, after),
    }
    return Figure("shake-up", None, "all", ("team", "rank_public", "rank_private", "move"), rows, statistics, [])


SINGLE: Mapping[str, Callable[[InsightsData, TrackKind], Figure]] = MappingProxyType(
    {"distances": _distances, "fid": _fid, "fid-distance": _fid_distance}
)
PAIRED: Mapping[str, Callable[[Session, InsightsData], Figure]] = MappingProxyType(
    {"public-private": _public_private, "ranks": _ranks, "shake-up": _shake_up}
)
FIGURES = (*SINGLE, *PAIRED)
"""Every figure: first those of one track, then those that compare both."""
