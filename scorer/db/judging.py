"""The score in SQL: measurements joined with a threshold, judged on read.

The formula itself is :func:`scorer.metrics.mifid.mifid`; here it meets columns instead of arrays. The view
``scores`` is the same selection with every track's newest threshold, for people with psql.
"""

import math
from typing import Any

from sqlalchemy import ColumnElement, Select, case, func, literal, literal_column, select
from sqlalchemy.dialects import postgresql
from sqlalchemy.dialects.postgresql import distinct_on

from scorer.db import merges
from scorer.db.tables import Competition, Measurement, Submission, Team, Threshold, Track
from scorer.lifecycle import Status
from scorer.metrics.mifid import is_copy, is_penalised, mifid

ZERO: ColumnElement[float] = literal_column("0::double precision")
NAN: ColumnElement[float] = literal_column("'NaN'::double precision")


def sql_where(condition: Any, then: Any, otherwise: Any) -> ColumnElement[Any]:
    """``numpy.where`` for columns."""
    return case((condition, _sql(then)), else_=_sql(otherwise))


def _sql(value: Any) -> Any:
    return NAN if isinstance(value, float) and math.isnan(value) else value


def rounded(score: Any, decimals: int) -> ColumnElement[Any]:
    """``scorer.ranking``'s rounding, bit for bit: both are IEEE double arithmetic."""
    scale = 10.0**decimals
    return func.floor(score * literal(scale) + literal(0.5)) / literal(scale)


def judged(*, track_id: int | None = None, tau: float | None = None) -> Select[Any]:
    """Every scored submission of a track (None: of all), judged with ``tau`` (None: the newest threshold), under the
    team that it belongs to now.

    Columns: ref, id, competition, track, competition_id, track_id, team_id, team, benchmark, accepted_at, fid,
    memorization_distance, distance_se, copied_share, tau, copy, penalised, mifid (NaN for a copy and without a
    threshold), measurement_id, measured_at.
    """
    entry = _measured(track_id, tau).subquery("entry").c
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
    )


def _measured(track_id: int | None, tau: float | None) -> Select[Any]:
    """The newest measurement of every submission, beside the tau that it is judged with."""
    newest = (
        select(
            Measurement.id,
            Measurement.track_id,
            Measurement.submission_ref,
            Measurement.fid,
            Measurement.memorization_distance,
            Measurement.distance_se,
            Measurement.created_at,
        )
        .ext(distinct_on(Measurement.track_id, Measurement.submission_ref))
        .order_by(Measurement.track_id, Measurement.submission_ref, Measurement.id.desc())
    )
    if track_id is not None:
        newest = newest.where(Measurement.track_id == track_id)
    newest_rows = newest.subquery("measured")
    measured = newest_rows.c
    chosen = (
        select(Threshold.track_id, Threshold.tau)
        .ext(distinct_on(Threshold.track_id))
        .order_by(Threshold.track_id, Threshold.id.desc())
        .subquery("chosen")
    )
    merged = merges.newest()
    threshold: Any = chosen.c.tau if tau is None else literal(tau)
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
            # A benchmark is never penalised: no distance is below zero.
            case((Team.benchmark, ZERO), else_=threshold).label("tau"),
            measured.id.label("measurement_id"),
            measured.created_at.label("measured_at"),
        )
        .join(newest_rows, measured.submission_ref == Submission.ref)
        .outerjoin(merged, merged.c.team_id == Submission.team_id)
        .join(Team, Team.id == func.coalesce(merged.c.into_team_id, Submission.team_id))
        .join(Track, Track.id == measured.track_id)
        .join(Competition, Competition.id == Track.competition_id)
        .outerjoin(chosen, chosen.c.track_id == Track.id)
        .where(Submission.status == Status.SCORED)
    )


def scores_view() -> str:
    """The statement that makes the view ``scores`` from the one formula; migrations execute it."""
    query = judged().compile(
        dialect=postgresql.dialect(),  # type: ignore[no-untyped-call]
        compile_kwargs={"literal_binds": True},
    )
    return f"CREATE OR REPLACE VIEW scores AS {query}"
