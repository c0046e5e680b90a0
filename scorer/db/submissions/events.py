"""SQL for the progress of submissions: their events, their public jobs, and how long such jobs take."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ARRAY, BigInteger, ColumnElement, column, extract, func, literal, or_, select
from sqlalchemy.orm import Session

from scorer.db.tables import Job, SubmissionEvent
from scorer.lifecycle import UNFINISHED, JobState, Queue

RECENT_JOBS = 20
"""Finished jobs whose median duration estimates that of the next one."""
WORKER_SEEN_WITHIN = timedelta(minutes=15)
"""A worker that has finished a public job within this time counts as active."""


def add_event(session: Session, ref: int, status: str, *, now: datetime, reason: str | None = None) -> None:
    """Record that a submission has reached a status."""
    session.add(SubmissionEvent(submission_ref=ref, status=status, reason=reason, created_at=now))


def events_after(session: Session, cursors: Mapping[int, int]) -> Sequence[SubmissionEvent]:
    """The events of submissions after the newest known ones, in order; ``cursors``: the known event ids, by ref."""
    wanted = (
        func.unnest(_array(cursors.keys()), _array(cursors.values()))
        .table_valued(column("ref", BigInteger), column("after", BigInteger), name="wanted")
        .render_derived()
    )
    is_later = (SubmissionEvent.submission_ref == wanted.c.ref) & (SubmissionEvent.id > wanted.c.after)
    return session.scalars(select(SubmissionEvent).join(wanted, is_later).order_by(SubmissionEvent.id)).all()


def _array(numbers: Collection[int]) -> ColumnElement[Any]:
    return literal(list(numbers), ARRAY(BigInteger))


def public_jobs(session: Session, refs: Collection[int]) -> Sequence[Job]:
    """The unfinished jobs of submissions that participants may see: none of the private track."""
    of_these = Job.submission_ref.in_(refs)
    return session.scalars(select(Job).where(of_these, Job.priority == 0, Job.state.in_(UNFINISHED))).all()


def usual_seconds(session: Session, queue: str, track_id: int | None) -> float | None:
    """The median duration in seconds of the newest public jobs of a queue (of a track, if given); None without any."""
    recent = (
        select((extract("epoch", Job.finished_at) - extract("epoch", Job.started_at)).label("seconds"))
        .where(
            Job.queue == queue,
            Job.track_id == track_id,  # IS NULL for None: no index serves IS NOT DISTINCT FROM
            Job.state == JobState.DONE,
            Job.priority == 0,
        )
        .order_by(Job.finished_at.desc())
        .limit(RECENT_JOBS)
        .subquery()
    )
    median = session.scalar(select(func.percentile_cont(0.5).within_group(recent.c.seconds)))
    return None if median is None else float(median)


def count_active_workers(session: Session, now: datetime) -> dict[Queue, int]:
    """How many workers do public jobs, by queue. Private jobs are left out, because estimates would reveal them."""
    busy = (Job.state == JobState.RUNNING) & (Job.lease_until > func.now())
    public = (Job.priority == 0) & or_(busy, Job.finished_at > now - WORKER_SEEN_WITHIN)
    query = select(Job.queue, func.count(Job.worker.distinct())).where(public).group_by(Job.queue)
    return {Queue(queue): count for queue, count in session.execute(query)}
