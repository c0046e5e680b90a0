"""The figures of Bai et al. 2021 from what a competition holds now, as data with the numbers that belong to them."""

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
LEADERS, TOP = 5, 100


@dataclass(frozen=True)
class Figure:
    """A figure as data: a row an entry (a team, for the shake-up), and what is to be said of them all.

    ``groups``: for each label the number of entries and the quantiles of the figure's first value.
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
        place = self.columns.index(name)
        return [row[place] for row in self.rows]


def figure(session: Session, shown: InsightsData, name: str, track: TrackKind, account: Account | None) -> Figure:
    """One figure; ``track`` counts for those of a single track. ``Forbidden`` for what needs the private track before
    publication."""
    if name in PAIRED:
        visible_track(shown.state, "private", account)
        return PAIRED[name](session, shown)
    visible_track(shown.state, track, account)
    return SINGLE[name](shown, track)


def _single(shown: InsightsData, name: str, track: TrackKind, value: str, statistics: Mapping[str, Any]) -> Figure:
    field = shown.fields[track]
    columns, told = _identity(shown, field)
    columns += ["fid", "distance", "score", "penalised"]
    told += [field.fid.tolist(), field.distance.tolist(), _plain(field.score), field.penalised.tolist()]
    return Figure(
        name=name,
        track=track,
        label=shown.label,
        columns=columns,
        rows=list(zip(*told, strict=True)),
        statistics={"count": len(field.refs), **statistics},
        groups=_groups(shown, field, getattr(field, value)),
        tau=shown.taus[track],
    )


def _plain(values: Vector) -> list[float | None]:
    """JSON has no nan."""
    return [None if np.isnan(value) else float(value) for value in values]


def _identity(shown: InsightsData, field: TrackColumns) -> tuple[list[str], list[list[Any]]]:
    columns: list[str] = []
    told: list[list[Any]] = []
    if shown.names:
        columns, told = ["entry", "team"], [field.ids.tolist(), field.teams.tolist()]
    if shown.labels:
        columns, told = [*columns, "label"], [*told, field.labels.tolist()]
    return columns, told


def _groups(shown: InsightsData, field: TrackColumns, values: Vector) -> list[Mapping[str, Any]]:
    if not shown.labels:
        return []
    groups: list[Mapping[str, Any]] = []
    for name, labels in LABEL_FILTERS.items():
        own = values[np.array([label in labels for label in field.labels], dtype=bool)]
        found = quantiles(own)
        if found is not None:
            spread = float(own.std(ddof=1)) if len(own) > 1 else None
            groups.append(
                {"label": name, "count": len(own), "mean": float(own.mean()), "deviation": spread} | asdict(found)
            )
    return groups


def _distances(shown: InsightsData, track: TrackKind) -> Figure:
    field = shown.fields[track]
    return _single(shown, "distances", track, "distance", _separation(shown, field, shown.taus[track]))


def _separation(shown: InsightsData, field: TrackColumns, tau: float | None) -> dict[str, Any]:
    """How well distances part memorising from legitimate entries, and what every method would choose among these."""
    if not shown.labels or not len(field.refs):
        return {}
    memorised = [MEMORISES.get(label or "") for label in field.labels]
    methods: dict[str, Any] = {}
    for method in METHODS if tau is None else (*METHODS, "manual"):
        try:
            found = choose_tau(field.distance, memorised, method, tau=tau)
        except KennelError as error:
            methods[method] = {"tau": None, "why": error.message}
            continue
        methods[method] = {"tau": found.tau, **{key: choice_as_json(found)[key] for key in ("interval", "confusion")}}
    whole = choice_as_json(choose_tau(field.distance, memorised, "paper"))
    told = ("memorization_margin", "relative_variance", "auc", "cohens_d")
    return {name: whole[name] for name in told} | {"methods": methods}


def _fid(shown: InsightsData, track: TrackKind) -> Figure:
    return _single(shown, "fid", track, "fid", {})


def _fid_distance(shown: InsightsData, track: TrackKind) -> Figure:
    field = shown.fields[track]
    top = np.argsort(field.fid, kind="stable")[:TOP]
    statistics = {
        "pearson": pearson(field.fid, field.distance),
        "spearman": spearman(field.fid, field.distance),
        "pearson_of_the_lowest_100_fids": pearson(field.fid[top], field.distance[top]),
    }
    return _single(shown, "fid-distance", track, "fid", statistics)


def _both(shown: InsightsData) -> tuple[TrackColumns, TrackColumns]:
    """The entries that are measured on both tracks, in the same order."""
    public, private = (shown.fields[kind] for kind in TRACK_KINDS)
    _, left, right = np.intersect1d(public.refs, private.refs, assume_unique=True, return_indices=True)
    return public.where(left), private.where(right)


def _public_private(_: Session, shown: InsightsData) -> Figure:
    public, private = _both(shown)
    statistics = {"spearman": spearman(public.fid, private.fid), "pearson": pearson(public.fid, private.fid)}
    return _paired(shown, "public-private", (public, private), "fid", (public.fid, private.fid), statistics)


def _ranks(_: Session, shown: InsightsData) -> Figure:
    public, private = _both(shown)
    statistics = {
        "mean_rank_difference": mean_rank_difference(public.fid, private.fid),
        "leaders_in_common": leaders_in_common(public.fid, private.fid, LEADERS),
    }
    values = ranks(public.fid), ranks(private.fid)
    return _paired(shown, "ranks", (public, private), "rank", values, statistics)


def _paired(
    shown: InsightsData,
    name: str,
    fields: tuple[TrackColumns, TrackColumns],
    value: str,
    values: tuple[Vector, Vector],
    statistics: Mapping[str, Any],
) -> Figure:
    columns, told = _identity(shown, fields[0])
    return Figure(
        name=name,
        track=None,
        label=shown.label,
        columns=[*columns, *(f"{value}_{kind}" for kind in TRACK_KINDS)],
        rows=list(zip(*told, *(each.tolist() for each in values), strict=True)),
        statistics={"count": len(values[0]), **statistics},
        groups=_groups(shown, fields[0], values[0]),
    )


def _shake_up(session: Session, shown: InsightsData) -> Figure:
    """Where the boards of both tracks have the same teams; labels are of entries, so none is chosen by them."""
    competition, tracks = shown.state.competition, shown.state.tracks
    public, private = (rows_of(session, competition, tracks, kind).page(0, None) for kind in TRACK_KINDS)
    earlier, names = {line.team_id: line.rank or 0 for line in public}, board.team_names(session, competition.id)
    rows = [
        (names[line.team_id], earlier[line.team_id], line.rank, earlier[line.team_id] - line.rank)
        for line in private
        if line.team_id in earlier and line.rank is not None
    ]
    before, after = [row[1] for row in rows], [row[2] for row in rows]
    last = shown.state.competition.medals.get("bronze", 0)
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
