"""Work that waits, runs or has failed, in SQL."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Row, Select, and_, func, or_, select
from sqlalchemy.orm import Session, aliased

from scorer.db.tables import Competition, Job, Submission, Track
from scorer.lifecycle import JobState


def queues(session: Session, now: datetime) -> Sequence[Row[Any]]:
    """Of each queue that has work: how many jobs wait, how many of those are due, since when the oldest due one is,
    how many run, and how many of those have lost their worker."""
    waiting, running = Job.state == JobState.WAITING, Job.state == JobState.RUNNING
    due = waiting & (Job.due_at <= now)
    query: Any = select(
        Job.queue,
        func.count().filter(waiting).label("waiting"),
        func.count().filter(due).label("due"),
        func.min(Job.due_at).filter(due).label("oldest_due_at"),
        func.count().filter(running).label("running"),
        func.count().filter(running & (Job.lease_until < now)).label("lost"),
    )
    # Written so that the two partial indexes can serve it, however many jobs are done.
    return session.execute(query.where(or_(waiting, running)).group_by(Job.queue).order_by(Job.queue)).all()


def running(session: Session) -> Sequence[Row[Any]]:
    """Jobs that a worker holds, longest running first."""
    return _jobs(session, Job.state == JobState.RUNNING, order=Job.started_at)


def failed(session: Session, *, track_id: int | None = None, only: int | None = None) -> Sequence[Row[Any]]:
    """Jobs that have failed for good and that no later job has replaced, newest failure first; of one track, or one
    job, if given."""
    conditions = [Job.state == JobState.FAILED, ~_is_replaced()]
    if track_id is not None:
        conditions.append(Job.track_id == track_id)
    if only is not None:
        conditions.append(Job.id == only)
    return _jobs(session, *conditions, order=Job.finished_at.desc())


def lock_job(session: Session, job_id: int) -> Job | None:
    """A job, locked for this transaction and read anew."""
    query = select(Job).where(Job.id == job_id).with_for_update(of=Job).execution_options(populate_existing=True)
    return session.scalars(query).one_or_none()


def _is_replaced() -> ColumnElement[bool]:
    later = aliased(Job)
    same = or_(
        and_(later.submission_ref == Job.submission_ref, later.track_id.is_not_distinct_from(Job.track_id)),
        later.preparation_id == Job.preparation_id,
        later.release_id == Job.release_id,
        later.study_id == Job.study_id,
    )
    return select(later.id).where(same, later.queue == Job.queue, later.id > Job.id).exists()


def _jobs(session: Session, *conditions: ColumnElement[bool], order: Any) -> Sequence[Row[Any]]:
    query: Select[Any] = (
        select(
            *Job.__table__.columns,
            Submission.id.label("submission_id"),
            Submission.file_name,
            Track.kind.label("track"),
            Competition.slug.label("competition"),
        )
        .outerjoin(Submission, Submission.ref == Job.submission_ref)
        .outerjoin(Track, Track.id == Job.track_id)
        .outerjoin(Competition, Competition.id == Submission.competition_id)
    )
    return session.execute(query.where(*conditions).order_by(order, Job.id)).all()
