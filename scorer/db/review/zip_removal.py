"""SQL for zips that are deleted from the store: those of refused entries, and those in finished competitions that no
decision rests on."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from pydantic import ConfigDict
from sqlalchemy import ColumnElement, all_, any_, exists, func, select, update
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.orm import Session

from scorer.db.leaderboard.scores import id_list
from scorer.db.tables import (
    Competition,
    Draw,
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


@dataclass(frozen=True)
class KeptEntries:
    """The entries whose zips stay: those of teams (ids after merges), and single ones (refs)."""

    teams: Collection[int]
    entries: Collection[int] = ()


@dataclass(frozen=True)
class ZipTotal:
    """The number of zips or generators, and their total size in bytes, with their draws."""

    zips: int
    bytes: int


@dataclass(frozen=True)
class RemovedZips(ZipTotal):
    """The number of zips or generators deleted from the store, and their total size in bytes, with their draws."""

    __pydantic_config__ = ConfigDict(use_attribute_docstrings=True)

    last_at: datetime | None
    """When the last zip was deleted."""


def published_before(session: Session, moment: datetime) -> Sequence[str]:
    """The slugs of the competitions that have zips and a final board that has been public since before ``moment``."""
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


def removable_zips(session: Session, competition_id: int, kept: KeptEntries, *, before: datetime) -> ZipTotal:
    return _total(session, *_is_removable(competition_id, kept, before))


def stored_zips(session: Session, competition_id: int) -> ZipTotal:
    return _total(session, Submission.competition_id == competition_id, Submission.blob_key.is_not(None))


def removed_zips(session: Session, competition_id: int) -> RemovedZips:
    removed = Submission.competition_id == competition_id, Submission.zip_removed_at.is_not(None)
    total = _total(session, *removed)
    last_at = session.scalar(select(func.max(Submission.zip_removed_at)).where(*removed))
    return RemovedZips(total.zips, total.bytes, last_at)


def _total(session: Session, *conditions: ColumnElement[bool]) -> ZipTotal:
    zips, submitted = session.execute(select(func.count(), func.sum(Submission.bytes)).where(*conditions)).one()
    draws = select(func.sum(Draw.bytes)).join(Submission, Submission.ref == Draw.submission_ref)
    drawn = session.scalar(draws.where(*conditions))
    return ZipTotal(zips, int(submitted or 0) + int(drawn or 0))


def take_zips(
    session: Session, competition_id: int, kept: KeptEntries, *, before: datetime, now: datetime, limit: int
) -> list[str]:
    """Detach the deletable zips of at most ``limit`` entries, with those of their draws. Returns the keys of the blobs,
    to delete after the commit. Locked entries stay until the next round."""
    return _take(session, _is_removable(competition_id, kept, before), now, limit=limit)


def take_refused_zips(session: Session, before: datetime, *, now: datetime, limit: int) -> list[str]:
    """Like :func:`take_zips`, for rejected or cancelled entries of any competition, accepted before a moment."""
    is_over = Submission.status.in_((Status.REJECTED, Status.CANCELLED))
    conditions = [is_over, Submission.blob_key.is_not(None), Submission.accepted_at < before, ~_has_jobs()]
    return _take(session, conditions, now, limit=limit)


def _take(session: Session, conditions: Sequence[ColumnElement[bool]], now: datetime, *, limit: int) -> list[str]:
    chosen = select(Submission.ref, Submission.blob_key).where(*conditions).order_by(Submission.ref).limit(limit)
    rows = session.execute(chosen.with_for_update(skip_locked=True, of=Submission)).all()
    if rows:
        removal = update(Submission).where(Submission.ref == any_(id_list([row.ref for row in rows])))
        session.execute(removal.values(blob_key=None, zip_removed_at=now))
    return [row.blob_key for row in rows] + _take_draws(session, [row.ref for row in rows], now)


def _take_draws(session: Session, refs: Sequence[int], now: datetime) -> list[str]:
    of_entries = Draw.submission_ref == any_(id_list(refs)), Draw.blob_key.is_not(None)
    keys = session.scalars(select(Draw.blob_key).where(*of_entries)).all()
    session.execute(update(Draw).where(*of_entries).values(blob_key=None, removed_at=now))
    return [key for key in keys if key is not None]


def _has_jobs() -> ColumnElement[bool]:
    return exists().where(Job.submission_ref == Submission.ref, Job.state.in_(UNFINISHED))


def _is_removable(competition_id: int, kept: KeptEntries, before: datetime) -> list[ColumnElement[bool]]:
    """The conditions for deleting an entry's zip.

    The entry was accepted before a moment, is not ``kept``, and has no review, label, ruling or rebuttal. Its team is
    no benchmark. No unfinished job concerns the entry, or a release or rating study of the competition.
    """
    team_id = merges.current_team_id()
    judged = (table.submission_ref == Submission.ref for table in (Review, Label, Ruling, Rebuttal))
    return [
        Submission.competition_id == competition_id,
        Submission.blob_key.is_not(None),
        Submission.accepted_at < before,
        team_id.not_in(kept.teams),
        Submission.ref != all_(id_list(kept.entries)),
        ~exists().where(Team.id == team_id, Team.benchmark),
        *(~exists().where(condition) for condition in judged),
        ~_has_jobs(),
        ~exists().where(
            Job.state.in_(UNFINISHED),
            Job.release_id.in_(select(Release.id).where(Release.competition_id == competition_id))
            | Job.study_id.in_(select(RatingStudy.id).where(RatingStudy.competition_id == competition_id)),
        ),
    ]
