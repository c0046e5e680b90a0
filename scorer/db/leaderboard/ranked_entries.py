"""A track's entries, read as numpy columns, and the rules that judge them, now or at a past moment."""

from collections import defaultdict
from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

import numpy as np
from sqlalchemy import Connection, ScalarSelect, Select, any_, case, exists, func, literal, null, select, union_all
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.engine import Compiled
from sqlalchemy.orm import aliased

from scorer.db import rescoring
from scorer.db.leaderboard.binary_copy import compiled, read_columns
from scorer.db.leaderboard.scores import NAN, id_list, newest_measurements, newest_rulings
from scorer.db.tables import (
    Competition,
    Measurement,
    PickSet,
    Publication,
    Ruling,
    Submission,
    Team,
    TeamMerge,
    Threshold,
    Track,
)
from scorer.db.tables.tuning import UNSET
from scorer.db.teams import merges
from scorer.lifecycle import Status
from scorer.ranking.columns import EMPTY, EntryColumns, FinalPicks, Ints, JudgingRules
from scorer.ranking.judged_entries import JudgedEntries

EPOCH = datetime(2000, 1, 1, tzinfo=UTC)
"""PostgreSQL's epoch. Its binary timestamps are microseconds since then."""
COLUMNS = {
    "ref": "int",
    "team": "int",
    "accepted_at": "int",
    "measured_at": "int",
    "fid": "float",
    "distance": "float",
    "distance_se": "float",
    "copied_share": "float",
    "late": "bool",
    "conditions": "int",
}


def load_judged_entries(
    connection: Connection,
    track_id: int,
    *,
    refs: Collection[int] | None = None,
    at: datetime | None = None,
    campaigns: Collection[int] | None = None,
) -> JudgedEntries:
    """The scored entries of a track (only ``refs``, if given), judged by its rules at the moment ``at``, or as if
    exactly these rescoring ``campaigns`` were in force."""
    return JudgedEntries(
        load_columns(connection, track_id, refs=refs, at=at, campaigns=campaigns),
        load_judging_rules(connection, track_id, at=at),
    )


def load_columns(
    connection: Connection,
    track_id: int,
    *,
    refs: Collection[int] | None = None,
    at: datetime | None = None,
    campaigns: Collection[int] | None = None,
) -> EntryColumns:
    """The scored entries of a track (only ``refs``, if given) with their newest measurements that count."""
    is_usual = refs is None and campaigns is None
    statement = (
        _compiled_for_all(track_id, at) if is_usual else compiled(_entries(track_id, refs, at, campaigns=campaigns))
    )
    return _columns(connection, statement)


def load_superseded_columns(
    connection: Connection, track_id: int, *, refs: Collection[int] | None = None
) -> EntryColumns:
    """The counting measurements of a track's scored entries (only ``refs``, if given) that are not the newest of their
    entry. Sorted by ref, then by age."""
    measured, newer = aliased(Measurement), aliased(Measurement)
    has_newer = exists().where(
        newer.track_id == measured.track_id,
        newer.submission_ref == measured.submission_ref,
        newer.id > measured.id,
        rescoring.counts(newer.campaign_id),
    )
    query = select(*_values(track_id, measured)).join(measured, measured.submission_ref == Submission.ref)
    query = query.where(measured.track_id == track_id, Submission.status == Status.SCORED, has_newer)
    query = query.where(rescoring.counts(measured.campaign_id))
    if refs is not None:
        query = query.where(measured.submission_ref == any_(id_list(refs)))
    return _columns(connection, compiled(query.order_by(measured.id)))


def _columns(connection: Connection, statement: Compiled) -> EntryColumns:
    columns = read_columns(connection, statement, COLUMNS)
    order = np.argsort(columns["ref"], kind="stable")
    return EntryColumns(**{name: column[order] for name, column in columns.items()})


def _entries(
    track_id: int, refs: Collection[int] | None, at: datetime | None, *, campaigns: Collection[int] | None = None
) -> Select[Any]:
    measured = newest_measurements(track_id, at, refs, campaigns=campaigns)
    query = select(*_values(track_id, measured.c)).join(measured, measured.c.submission_ref == Submission.ref)
    return query.where(Submission.status == Status.SCORED)


def _values(track_id: int, measured: Any) -> tuple[Any, ...]:
    """The values of ``COLUMNS``, from a submission and one of its measurements."""
    return (
        Submission.ref,
        Submission.team_id,
        Submission.accepted_at,
        measured.created_at,
        measured.fid,
        measured.memorization_distance,
        func.coalesce(measured.distance_se, NAN),
        func.coalesce(Submission.copied_share, 0.0),
        Submission.late,
        rescoring.conditions_hash(track_id, measured),
    )


@lru_cache(maxsize=64)  # compiling the statement takes longer than reading a small board
def _compiled_for_all(track_id: int, at: datetime | None) -> Compiled:
    return compiled(_entries(track_id, None, at))


def to_microseconds(at: datetime) -> int:
    """A moment as in columns: microseconds since ``EPOCH``."""
    return (at - EPOCH) // timedelta(microseconds=1)


def from_microseconds(microseconds: int) -> datetime:
    return EPOCH + timedelta(microseconds=int(microseconds))


def load_judging_rules(connection: Connection, track_id: int, *, at: datetime | None = None) -> JudgingRules:
    query = select(Track.competition_id, Track.epsilon, Competition.score_decimals, _newest_tau(track_id, at))
    competition_id, epsilon, decimals, tau = connection.execute(
        query.join(Competition).where(Track.id == track_id)
    ).one()
    merged, ruled = merges.newest_merges(at), newest_rulings(at)
    rows = connection.execute(
        union_all(
            select(literal("merged"), merged.c.team_id, merged.c.into_team_id)
            .join(Team, Team.id == merged.c.team_id)
            .where(Team.competition_id == competition_id),
            select(literal("benchmark"), Team.id, null()).where(Team.competition_id == competition_id, Team.benchmark),
            select(ruled.c.kind, ruled.c.submission_ref, null())
            .join(Submission, Submission.ref == ruled.c.submission_ref)
            .where(Submission.competition_id == competition_id),
        )
    )
    by_kind: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
    for kind, id_, into in rows:
        by_kind[kind].append((id_, into))
    merged_into = sorted(by_kind["merged"])

    def ids(kind: str) -> Ints:
        return _ints([id_ for id_, _ in by_kind[kind]])

    return JudgingRules(
        tau=np.nan if tau is None else float(tau),
        epsilon=epsilon,
        decimals=decimals,
        merged=_ints([team for team, _ in merged_into]),
        into=_ints([into for _, into in merged_into]),
        benchmarks=ids("benchmark"),
        disqualified=ids("disqualify"),
        waived=ids("waive"),
    )


def _newest_tau(track_id: int, at: datetime | None) -> ScalarSelect[float]:
    """The tau of a track; null if none has been chosen."""
    newest = select(case((Threshold.method != UNSET, Threshold.tau))).where(Threshold.track_id == track_id)
    if at is not None:
        newest = newest.where(Threshold.created_at <= at)
    return newest.order_by(Threshold.id.desc()).limit(1).scalar_subquery()


def rule_changes_around(
    connection: Connection, competition_id: int, track_ids: Collection[int], *, at: datetime
) -> tuple[datetime | None, bool]:
    """The moment of the last change up to ``at``, or None, and whether there was any later change. Changes are those
    that judge and rank the entries of these tracks: thresholds, rulings, merges, final picks, rescoring campaigns."""
    moment = union_all(*_rule_changes(competition_id, track_ids)).subquery().c.created_at
    row = connection.execute(select(func.max(moment).filter(moment <= at), func.max(moment) > at)).one()
    return row[0], bool(row[1])


def newest_change(connection: Connection, competition_id: int, track_ids: Collection[int]) -> datetime | None:
    """When the newest row was added that the boards of these tracks depend on, including measurements."""
    measured = select(Measurement.created_at).where(Measurement.track_id == any_(id_list(track_ids)))
    moments = union_all(measured, *_rule_changes(competition_id, track_ids)).subquery()
    newest: datetime | None = connection.scalar(select(func.max(moments.c.created_at)))
    return newest


def _rule_changes(competition_id: int, track_ids: Collection[int]) -> list[Select[datetime]]:
    return [
        select(Threshold.created_at).where(Threshold.track_id == any_(id_list(track_ids))),
        select(Ruling.created_at).join(Submission).where(Submission.competition_id == competition_id),
        select(TeamMerge.created_at).where(TeamMerge.competition_id == competition_id),
        select(PickSet.created_at).join(Team).where(Team.competition_id == competition_id),
        rescoring.track_switches_query(track_ids),
    ]


def final_as_of(connection: Connection, competition_id: int, *, at: datetime | None = None) -> datetime | None:
    """The moment that the published final board is read as of; None if no final board is published. ``at``: at this
    past moment, which limits the result."""
    acts = select(Publication.published, Publication.final, Publication.as_of).where(
        Publication.competition_id == competition_id
    )
    if at is not None:
        acts = acts.where(Publication.created_at <= at)
    act = connection.execute(acts.order_by(Publication.id.desc()).limit(1)).one_or_none()
    if act is None or not (act.published and act.final):
        return None
    as_of: datetime = act.as_of
    return as_of if at is None else min(at, as_of)


def load_picks(connection: Connection, competition_id: int, *, at: datetime | None = None) -> FinalPicks:
    """The final picks of a competition's teams, sorted by ``ref``, at the moment ``at``."""
    newest = select(PickSet.team_id, PickSet.submission_refs).ext(distinct_on(PickSet.team_id))
    newest = newest.join(Team, Team.id == PickSet.team_id).where(Team.competition_id == competition_id)
    if at is not None:
        newest = newest.where(PickSet.created_at <= at)
    chosen = newest.order_by(PickSet.team_id, PickSet.id.desc()).subquery()
    query = select(func.unnest(chosen.c.submission_refs), chosen.c.team_id)
    picks = read_columns(connection, compiled(query), {"ref": "int", "team": "int"})
    order = np.lexsort((picks["team"], picks["ref"]))
    return FinalPicks(picks["ref"][order], picks["team"][order])


def _ints(values: Collection[int]) -> Ints:
    return np.array(list(values), np.int64) if values else EMPTY
