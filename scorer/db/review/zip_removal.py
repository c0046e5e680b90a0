"""SQL for zips that leave the store: those of refused entries, and those of finished competitions that no decision
rests on."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from pydantic import ConfigDict
from sqlalchemy import BigInteger, ColumnElement, any_, cast, exists, func, select, update
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.orm import Session

from scorer.db.leaderboard.scores import id_list
from scorer.db.tables import (
    Competition,
    Job,
    Label,
    Publication,
    RatingStudy,
    Rebuttal,
    Release,
    Review,
    Ruling,
    Submission,
    Team,
)
from scorer.db.teams import merges
from scorer.lifecycle import UNFINISHED, Status

BYTES = func.coalesce(cast(func.sum(Submission.bytes), BigInteger), 0)


@dataclass(frozen=True)
class ZipTotal:
    """How many zips, and their bytes."""

    zips: int
    bytes: int


@dataclass(frozen=True)
class RemovedZips(ZipTotal):
    """How many zips have left, and their bytes."""

    __pydantic_config__ = ConfigDict(use_attribute_docstrings=True)

    last_at: datetime | None
    """When the last one left."""


def published_before(session: Session, moment: datetime) -> Sequence[str]:
    """The slugs of the competitions whose final board has been public since before ``moment`` and that have zips."""
    newest = (
        select(Publication.competition_id, Publication.published, Publication.final, Publication.created_at)
        .ext(distinct_on(Publication.competition_id))
        .order_by(Publication.competition_id, Publication.id.desc())
        .subquery()
    )
    has_zips = exists().where(Submission.competition_id == Competition.id, Submission.blob_key.is_not(None))
    query = select(Competition.slug).join(newest, newest.c.competition_id == Competition.id)
    return session.scalars(
        query.where(newest.c.published, newest.c.final, newest.c.created_at < moment, has_zips)
    ).all()


def removable_zips(session: Session, competition_id: int, winners: Collection[int], *, before: datetime) -> ZipTotal:
    """The zips of a competition that may leave: see :func:`_is_removable`."""
    query = select(func.count(), BYTES)
    return ZipTotal(*session.execute(query.where(*_is_removable(competition_id, winners, before))).one())


def stored_zips(session: Session, competition_id: int) -> ZipTotal:
    """The zips of a competition that are in the store."""
    query = select(func.count(), BYTES)
    stored = Submission.competition_id == competition_id, Submission.blob_key.is_not(None)
    return ZipTotal(*session.execute(query.where(*stored)).one())


def removed_zips(session: Session, competition_id: int) -> RemovedZips:
    """The zips of a competition that have left."""
    query = select(func.count(), BYTES, func.max(Submission.zip_removed_at))
    removed = Submission.competition_id == competition_id, Submission.zip_removed_at.is_not(None)
    return RemovedZips(*session.execute(query.where(*removed)).one())


def take_zips(
    session: Session, competition_id: int, winners: Collection[int], *, before: datetime, now: datetime, limit: int
) -> list[str]:
    """Take at most ``limit`` zips that may leave off their entries; returns the keys of their blobs, which are to be
    deleted after the commit. Entries that others have locked are left for the next round."""
    return _take(session, _is_removable(competition_id, winners, before), now, limit=limit)


def take_refused_zips(session: Session, before: datetime, *, now: datetime, limit: int) -> list[str]:
    """The same of entries of any competition that were rejected or cancelled and were accepted before a moment."""
    is_over = Submission.status.in_((Status.REJECTED, Status.CANCELLED))
    conditions = [is_over, Submission.blob_key.is_not(None), Submission.accepted_at < before, ~_has_jobs()]
    return _take(session, conditions, now, limit=limit)


def _take(session: Session, conditions: Sequence[ColumnElement[bool]], now: datetime, *, limit: int) -> list[str]:
    chosen = select(Submission.ref, Submission.blob_key).where(*conditions).order_by(Submission.ref).limit(limit)
    rows = session.execute(chosen.with_for_update(skip_locked=True, of=Submission)).all()
    if rows:
        removal = update(Submission).where(Submission.ref == any_(id_list([row.ref for row in rows])))
        session.execute(removal.values(blob_key=None, zip_removed_at=now))
    return [row.blob_key for row in rows]


def _has_jobs() -> ColumnElement[bool]:
    return exists().where(Job.submission_ref == Submission.ref, Job.state.in_(UNFINISHED))


def _is_removable(competition_id: int, winners: Collection[int], before: datetime) -> list[ColumnElement[bool]]:
    """Conditions on entries whose zip may leave: accepted before a moment, of a team that neither wins (``winners``, by
    the ids of teams after merges) nor is a benchmark, without review, label, ruling or rebuttal; and nothing is being
    made of them or of the whole competition."""
    team_id = merges.current_team_id()
    judged = (table.submission_ref == Submission.ref for table in (Review, Label, Ruling, Rebuttal))
    return [
        Submission.competition_id == competition_id,
        Submission.blob_key.is_not(None),
        Submission.accepted_at < before,
        team_id.not_in(winners),
        ~exists().where(Team.id == team_id, Team.benchmark),
        *(~exists().where(each) for each in judged),
        ~_has_jobs(),
        ~exists().where(
            Job.state.in_(UNFINISHED),
            Job.release_id.in_(select(Release.id).where(Release.competition_id == competition_id))
            | Job.study_id.in_(select(RatingStudy.id).where(RatingStudy.competition_id == competition_id)),
        ),
    ]
