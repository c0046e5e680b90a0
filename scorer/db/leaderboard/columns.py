"""The field of a track read as columns, and the terms that it is judged by; now or at a past moment."""

import io
from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, Select, func, select
from sqlalchemy.dialects.postgresql import distinct_on, psycopg2
from sqlalchemy.engine import Compiled

from scorer.db.leaderboard.scores import newest_measurements, newest_rulings
from scorer.db.tables import Competition, PickSet, Submission, Team, Threshold, Track
from scorer.db.teams import merges
from scorer.lifecycle import Status
from scorer.ranking.columns import EMPTY, EntryColumns, FinalPicks, Ints, JudgingRules
from scorer.ranking.vectorised import JudgedEntries

DIALECT = psycopg2.dialect()  # type: ignore[no-untyped-call]
EPOCH = datetime(2000, 1, 1, tzinfo=UTC)
"""PostgreSQL's own: its binary moments are microseconds since then."""
HEADER, TRAILER = 19, 2
"""Bytes of a binary copy before its first row (a signature, flags, the length of no extension) and after its last."""
COLUMNS = {
    "ref": ">i8",
    "team": ">i8",
    "accepted_at": ">i8",
    "measured_at": ">i8",
    "fid": ">f8",
    "distance": ">f8",
    "copied_share": ">f8",
    "late": "?",
}
"""None of them is ever NULL, so every row of the copy has the same length: a count, and each value after its length."""
ROW = np.dtype(
    [("count", ">i2"), *(part for name, kind in COLUMNS.items() for part in ((f"{name}_size", ">i4"), (name, kind)))]
)


def judged_of(
    connection: Connection, track_id: int, *, refs: Collection[int] | None = None, at: datetime | None = None
) -> JudgedEntries:
    """The scored entries of a track, or those ``refs`` of them, under its terms; as of the moment ``at``."""
    return JudgedEntries(
        columns_of(connection, track_id, refs=refs, at=at), judging_rules_of(connection, track_id, at=at)
    )


def columns_of(
    connection: Connection, track_id: int, *, refs: Collection[int] | None = None, at: datetime | None = None
) -> EntryColumns:
    """The scored entries of a track with their newest measurements, or those ``refs`` of them."""
    written = _written_for_all(track_id, at) if refs is None else _written(_entries(track_id, refs, at))
    rows = _copy_rows(connection, written)
    order = np.argsort(rows["ref"], kind="stable")
    return EntryColumns(
        **{name: rows[name].astype(np.dtype(kind).newbyteorder("="))[order] for name, kind in COLUMNS.items()}
    )


def _entries(track_id: int, refs: Collection[int] | None, at: datetime | None) -> Select[Any]:
    measured = newest_measurements(track_id, at, refs)
    return (
        select(
            Submission.ref,
            Submission.team_id,
            Submission.accepted_at,
            measured.c.created_at,
            measured.c.fid,
            measured.c.memorization_distance,
            func.coalesce(Submission.copied_share, 0.0),
            Submission.late,
        )
        .join(measured, measured.c.submission_ref == Submission.ref)
        .where(Submission.status == Status.SCORED)
    )


@lru_cache(maxsize=64)  # writing the statement down takes longer than reading a small board
def _written_for_all(track_id: int, at: datetime | None) -> Compiled:
    return _written(_entries(track_id, None, at))


def _written(query: Select[Any]) -> Compiled:
    return query.compile(dialect=DIALECT)


def _copy_rows(connection: Connection, statement: Compiled) -> NDArray[np.void]:
    """The rows of a query, as the server itself has them: a million in about a second."""
    driver: Any = connection.connection.driver_connection
    buffer = io.BytesIO()
    with driver.cursor() as cursor:
        asked = cursor.mogrify(str(statement), statement.params).decode()
        cursor.copy_expert(f"COPY ({asked}) TO STDOUT (FORMAT binary)", buffer)
    return np.frombuffer(buffer.getbuffer()[HEADER:-TRAILER], ROW)


def to_microseconds(at: datetime) -> int:
    """A moment as a field has it."""
    return (at - EPOCH) // timedelta(microseconds=1)


def from_microseconds(instant_: int) -> datetime:
    """A field's moment in words that others understand."""
    return EPOCH + timedelta(microseconds=int(instant_))


def judging_rules_of(connection: Connection, track_id: int, *, at: datetime | None = None) -> JudgingRules:
    """What a track is judged by."""
    here = select(Track.competition_id, Track.epsilon, Competition.score_decimals).join(Competition)
    track = connection.execute(here.where(Track.id == track_id)).one()
    merged = merges.newest_merges(at)
    pairs = select(merged.c.team_id, merged.c.into_team_id).join(Team, Team.id == merged.c.team_id)
    teams = connection.execute(
        pairs.where(Team.competition_id == track.competition_id).order_by(merged.c.team_id)
    ).all()
    lines = select(Team.id).where(Team.competition_id == track.competition_id, Team.benchmark)
    ruled = newest_rulings(at)
    rulings = select(ruled.c.submission_ref, ruled.c.kind).join(Submission, Submission.ref == ruled.c.submission_ref)
    words = connection.execute(rulings.where(Submission.competition_id == track.competition_id)).all()
    return JudgingRules(
        tau=_tau(connection, track_id, at),
        epsilon=track.epsilon,
        decimals=track.score_decimals,
        merged=_ints([team for team, _ in teams]),
        into=_ints([into for _, into in teams]),
        benchmarks=_ints(connection.scalars(lines).all()),
        disqualified=_ints([ref for ref, kind in words if kind == "disqualify"]),
        waived=_ints([ref for ref, kind in words if kind == "waive"]),
    )


def _tau(connection: Connection, track_id: int, at: datetime | None) -> float:
    newest = select(Threshold.tau).where(Threshold.track_id == track_id)
    if at is not None:
        newest = newest.where(Threshold.created_at <= at)
    tau = connection.scalar(newest.order_by(Threshold.id.desc()).limit(1))
    return np.nan if tau is None else float(tau)


def picks_of(connection: Connection, competition_id: int, *, at: datetime | None = None) -> FinalPicks:
    """What the teams of a competition have picked, as pairs."""
    newest = select(PickSet.team_id, PickSet.submission_refs).ext(distinct_on(PickSet.team_id))
    newest = newest.join(Team, Team.id == PickSet.team_id).where(Team.competition_id == competition_id)
    if at is not None:
        newest = newest.where(PickSet.created_at <= at)
    rows = connection.execute(newest.order_by(PickSet.team_id, PickSet.id.desc())).all()
    ref = _ints([ref for row in rows for ref in row.submission_refs])
    team = _ints([row.team_id for row in rows for _ in row.submission_refs])
    order = np.argsort(ref, kind="stable")
    return FinalPicks(ref[order], team[order])


def _ints(values: Collection[int]) -> Ints:
    return np.array(list(values), np.int64) if values else EMPTY
