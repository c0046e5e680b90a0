"""SQL for scores: the newest measurements joined with thresholds, rulings and merges, judged on read.

The formula is :func:`scorer.metrics.mifid.mifid`, applied to SQL columns instead of arrays. The view ``scores`` is the
same selection with every track's newest threshold, for psql. A migration contains its statement, and a test compares
the view with this module. Ranks are computed by :mod:`scorer.ranking.vectorised`.
"""

import math
from collections.abc import Collection
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Select,
    Subquery,
    any_,
    bindparam,
    case,
    func,
    literal_column,
    select,
)
from sqlalchemy.dialects.postgresql import ARRAY, distinct_on

from scorer.db import rescoring
from scorer.db.tables import Competition, Measurement, Ruling, Submission, Team, TeamRenaming, Threshold, Track
from scorer.db.teams import merges
from scorer.lifecycle import Status
from scorer.metrics.mifid import is_copy, is_penalised, mifid

ZERO: ColumnElement[float] = literal_column("0::double precision")
NAN: ColumnElement[float] = literal_column("'NaN'::double precision")
INFINITY: ColumnElement[float] = literal_column("'Infinity'::double precision")
KEEP: ColumnElement[str] = literal_column("'keep'::text")


class Score(NamedTuple):
    """A row of :func:`judged_entries`: an entry's newest measurement on a track with its score and judgement."""

    ref: int
    id: str
    competition: str
    track: str
    competition_id: int
    track_id: int
    team_id: int
    team: str
    benchmark: bool
    accepted_at: datetime
    fid: float
    memorization_distance: float
    distance_se: float | None
    copied_share: float
    tau: float | None
    """The threshold that it is judged with: 0 for a benchmark entry or a waived penalty; None without a threshold."""
    copy: bool
    penalised: bool | None
    mifid: float
    """nan for a copy, and without a threshold."""
    measurement_id: int
    measured_at: datetime
    late: bool
    ruling: str
    disqualified: bool


def sql_where(condition: Any, then: Any, otherwise: Any) -> ColumnElement[Any]:
    """``numpy.where`` for SQL columns."""
    return case((condition, _sql(then)), else_=_sql(otherwise))


def _sql(value: Any) -> Any:
    return NAN if isinstance(value, float) and math.isnan(value) else value


def id_list(ids: Collection[int] | str) -> ColumnElement[Any]:
    """Ids as one array parameter, regardless of their number. A text is the name of a cached statement's parameter."""
    if isinstance(ids, str):
        return bindparam(ids, None, type_=ARRAY(BigInteger))
    return bindparam(None, list(ids), type_=ARRAY(BigInteger))


def judged_entries(*, track_id: int | None = None, refs: Collection[int] | str | None = None) -> Select[Any]:
    """Every scored submission of a track (None: of all tracks), judged with the newest threshold and its newest ruling.

    ``refs``: only these submissions. The columns are those of :class:`Score`; the team is that after merges.
    """
    entry = _measured(track_id, refs).subquery("entry").c
    distance, copied = entry.memorization_distance, entry.copied_share
    return select(
        entry.ref,
        entry.id,
        entry.competition,
        entry.track,
        entry.competition_id,
        entry.track_id,
        entry.team_id,
        entry.team,
        entry.benchmark,
        entry.accepted_at,
        entry.fid,
        distance,
        entry.distance_se,
        copied,
        entry.tau,
        is_copy(distance, copied).label("copy"),
        is_penalised(distance, entry.tau).label("penalised"),
        mifid(entry.fid, distance, entry.tau, entry.epsilon, copied_share=copied, where=sql_where).label("mifid"),
        entry.measurement_id,
        entry.measured_at,
        entry.late,
        entry.ruling,
        (entry.ruling == "disqualify").label("disqualified"),
    )


def _measured(track_id: int | None, refs: Collection[int] | str | None) -> Select[Any]:
    """The newest measurement of every submission, with the tau that judges it and its ruling."""
    measured_rows = newest_measurements(track_id, None, refs)
    measured = measured_rows.c
    chosen = _newest_thresholds()
    merged = merges.newest_merges()
    ruled = newest_rulings()
    ruling = func.coalesce(ruled.c.kind, KEEP)
    return (
        select(
            Submission.ref,
            Submission.id,
            Competition.slug.label("competition"),
            Track.kind.label("track"),
            Track.epsilon,
            Submission.competition_id,
            measured.track_id,
            Team.id.label("team_id"),
            Team.name.label("team"),
            Team.benchmark,
            Submission.accepted_at,
            measured.fid,
            measured.memorization_distance,
            measured.distance_se,
            func.coalesce(Submission.copied_share, 0.0).label("copied_share"),
            # A tau of 0 penalises nothing, because no distance is below it. It is used for benchmarks and waived
            # penalties.
            case((Team.benchmark | (ruling == "waive"), ZERO), else_=chosen.c.tau).label("tau"),
            measured.id.label("measurement_id"),
            measured.created_at.label("measured_at"),
            Submission.late,
            ruling.label("ruling"),
        )
        .join(measured_rows, measured.submission_ref == Submission.ref)
        .outerjoin(merged, merged.c.team_id == Submission.team_id)
        .join(Team, Team.id == func.coalesce(merged.c.into_team_id, Submission.team_id))
        .join(Track, Track.id == measured.track_id)
        .join(Competition, Competition.id == Track.competition_id)
        .outerjoin(chosen, chosen.c.track_id == Track.id)
        .outerjoin(ruled, ruled.c.submission_ref == Submission.ref)
        .where(Submission.status == Status.SCORED)
    )


def newest_measurements(
    track_id: int | None,
    at: datetime | None,
    refs: Collection[int] | str | None = None,
    *,
    campaigns: Collection[int] | None = None,
) -> Subquery:
    """The newest measurement that counts of every submission on a track (None: on every track). ``campaigns``: as if
    exactly these rescoring campaigns were in force."""
    newest = (
        select(
            Measurement.id,
            Measurement.track_id,
            Measurement.submission_ref,
            Measurement.campaign_id,
            Measurement.scorer_version,
            Measurement.fid,
            Measurement.memorization_distance,
            Measurement.distance_se,
            Measurement.created_at,
        )
        .ext(distinct_on(Measurement.track_id, Measurement.submission_ref))
        .where(rescoring.counts(Measurement.campaign_id, at, campaigns))
    )
    if track_id is not None:
        newest = newest.where(Measurement.track_id == track_id)
    if at is not None:
        newest = newest.where(Measurement.created_at <= at)
    if refs is not None:
        newest = newest.where(Measurement.submission_ref == any_(id_list(refs)))
    return newest.order_by(Measurement.track_id, Measurement.submission_ref, Measurement.id.desc()).subquery("measured")


def _newest_thresholds() -> Subquery:
    chosen = select(Threshold.track_id, Threshold.tau).ext(distinct_on(Threshold.track_id))
    return chosen.order_by(Threshold.track_id, Threshold.id.desc()).subquery("chosen")


def newest_rulings(at: datetime | None = None) -> Subquery:
    """The newest ruling on every submission that has one: ``submission_ref``, ``kind``, ``reason``."""
    ruled = select(Ruling.submission_ref, Ruling.kind, Ruling.reason).ext(distinct_on(Ruling.submission_ref))
    if at is not None:
        ruled = ruled.where(Ruling.created_at <= at)
    return ruled.order_by(Ruling.submission_ref, Ruling.id.desc()).subquery("ruled")


def name_at(team: Any, at: datetime) -> ColumnElement[Any]:
    """A team's name at a past moment: the name before its first later renaming, or else its current name."""
    later = (
        select(TeamRenaming.before)
        .where(TeamRenaming.team_id == team.id, TeamRenaming.created_at > at)
        .order_by(TeamRenaming.id)
        .limit(1)
        .correlate(team)
    )
    return func.coalesce(later.scalar_subquery(), team.name)
