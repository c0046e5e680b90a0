"""SQL for the load of each queue, running jobs, and failed jobs."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pydantic import ConfigDict
from sqlalchemy import ColumnElement, and_, func, or_, select
from sqlalchemy.orm import Session, aliased

from scorer.db.tables import Competition, Job, Submission, Track
from scorer.lifecycle import JobState


@dataclass(frozen=True)
class QueueLoad:
    """The unfinished jobs of a queue: how many wait, how many of these are due and since when, how many run, and how
    many of these have lost their worker."""

    __pydantic_config__ = ConfigDict(use_attribute_docstrings=True)

    queue: str
    waiting: int
    due: int
    oldest_due_at: datetime | None
    """When the oldest due job became due."""
    running: int
    lost: int
    """Running jobs with a lease that their worker has not renewed in time. The sweep frees them."""


@dataclass(frozen=True)
class ListedJob:
    """A job with the names of its submission, track and competition."""

    id: int
    queue: str
    state: str
    attempts: int
    worker: str | None
    stage: str | None
    fraction: float | None
    lease_until: datetime | None
    error: str | None
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    submission_id: str | None
    file_name: str | None
    track: str | None
    competition: str | None


def queues(session: Session) -> list[QueueLoad]:
    waiting, running = Job.state == JobState.WAITING, Job.state == JobState.RUNNING
    due = waiting & (Job.due_at <= func.now())
    query = select(
        Job.queue,
        func.count().filter(waiting).label("waiting"),
        func.count().filter(due).label("due"),
        func.min(Job.due_at).filter(due).label("oldest_due_at"),
        func.count().filter(running).label("running"),
        func.count().filter(running & (Job.lease_until < func.now())).label("lost"),
    )
    # The condition matches the two partial indexes, so finished jobs cost nothing.
    rows = session.execute(query.where(or_(waiting, running)).group_by(Job.queue).order_by(Job.queue))
    return [QueueLoad(*row) for row in rows]


def running(session: Session) -> list[ListedJob]:
    return _jobs(session, Job.state == JobState.RUNNING, order=Job.started_at)


def failed(session: Session, *, track_id: int | None = None, only: int | None = None) -> list[ListedJob]:
    """Jobs that have failed and have not been replaced by a later job, newest failure first. ``track_id``: only those
    of this track. ``only``: only this job."""
    conditions = [Job.state == JobState.FAILED, ~_is_replaced()]
    if track_id is not None:
        conditions.append(Job.track_id == track_id)
    if only is not None:
        conditions.append(Job.id == only)
    return _jobs(session, *conditions, order=Job.finished_at.desc())


def lock_job(session: Session, job_id: int) -> Job | None:
    """A job, locked for this transaction and reloaded."""
    query = select(Job).where(Job.id == job_id).with_for_update(of=Job).execution_options(populate_existing=True)
    return session.scalars(query).one_or_none()


def _is_replaced() -> ColumnElement[bool]:
    later = aliased(Job)
    same = (
        and_(
            later.submission_ref == Job.submission_ref,
            later.track_id.is_not_distinct_from(Job.track_id),
            later.shown_track_id.is_not_distinct_from(Job.shown_track_id),
        ),
        later.preparation_id == Job.preparation_id,
        later.release_id == Job.release_id,
        later.study_id == Job.study_id,
    )
    # One look-up per column: a single look-up with OR would read all jobs, because no index has all four columns.
    return or_(
        *(select(later.id).where(condition, later.queue == Job.queue, later.id > Job.id).exists() for condition in same)
    )


def _jobs(session: Session, *conditions: ColumnElement[bool], order: Any) -> list[ListedJob]:
    query = (
        select(Job.id, Job.queue, Job.state, Job.attempts, Job.worker, Job.stage, Job.fraction, Job.lease_until)
        .add_columns(Job.error, Job.created_at, Job.started_at, Job.finished_at)
        .add_columns(Submission.id, Submission.file_name, Track.kind, Competition.slug)
        .outerjoin(Submission, Submission.ref == Job.submission_ref)
        .outerjoin(Track, Track.id == Job.track_id)
        .outerjoin(Competition, Competition.id == Submission.competition_id)
    )
    return [ListedJob(*row) for row in session.execute(query.where(*conditions).order_by(order, Job.id))]


def database_time(session: Session) -> datetime:
    """The database's clock, which decides when jobs are due."""
    now: datetime = session.execute(select(func.now())).scalar_one()
    return now
