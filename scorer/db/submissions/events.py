"""What listeners hear of submissions, in SQL: their steps, their public jobs, and how long such jobs take."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ARRAY, BigInteger, ColumnElement, column, extract, func, literal, or_, select
from sqlalchemy.orm import Session

from scorer.db.tables import Job, SubmissionEvent
from scorer.lifecycle import UNFINISHED, JobState, Queue

RECENT_JOBS = 20
"""So many finished jobs tell how long the next one takes."""
WORKER_SEEN_WITHIN = timedelta(minutes=15)
"""A worker that ended a public job so long ago is between two of them, not gone."""


def add_event(session: Session, ref: int, status: str, *, now: datetime, reason: str | None = None) -> None:
    """Write down that a submission has reached a status."""
    session.add(SubmissionEvent(submission_ref=ref, status=status, reason=reason, created_at=now))


def events_after(session: Session, cursors: Mapping[int, int]) -> Sequence[SubmissionEvent]:
    """The steps of submissions (refs) that come after the ones with these ids, in order."""
    wanted = (
        func.unnest(_array(cursors.keys()), _array(cursors.values()))
        .table_valued(column("ref", BigInteger), column("after", BigInteger), name="wanted")
        .render_derived()
    )
    since = (SubmissionEvent.submission_ref == wanted.c.ref) & (SubmissionEvent.id > wanted.c.after)
    return session.scalars(select(SubmissionEvent).join(wanted, since).order_by(SubmissionEvent.id)).all()


def _array(numbers: Collection[int]) -> ColumnElement[Any]:
    return literal(list(numbers), ARRAY(BigInteger))


def public_jobs(session: Session, refs: Collection[int]) -> Sequence[Job]:
    """The unfinished jobs of submissions that everyone may know of: none of the private track."""
    own = Job.submission_ref.in_(refs)
    return session.scalars(select(Job).where(own, Job.priority == 0, Job.state.in_(UNFINISHED))).all()


def usual_seconds(session: Session, queue: str, track_id: int | None) -> float | None:
    """The median duration of the newest public jobs of a queue (of a track, if there is one); None before the
    first."""
    recent = (
        select((extract("epoch", Job.finished_at) - extract("epoch", Job.started_at)).label("seconds"))
        .where(
            Job.queue == queue,
            Job.track_id.is_not_distinct_from(track_id),
            Job.state == JobState.DONE,
            Job.priority == 0,
        )
        .order_by(Job.finished_at.desc())
        .limit(RECENT_JOBS)
        .subquery()
    )
    found = session.scalar(select(func.percentile_cont(0.5).within_group(recent.c.seconds)))
    return None if found is None else float(found)


def count_active_workers(session: Session, now: datetime) -> dict[Queue, int]:
    """How many workers do the public work of each queue. Private work is not looked at: whether there is any would be
    read off the estimates."""
    busy = (Job.state == JobState.RUNNING) & (Job.lease_until > now)
    public = (Job.priority == 0) & or_(busy, Job.finished_at > now - WORKER_SEEN_WITHIN)
    query = select(Job.queue, func.count(Job.worker.distinct())).where(public).group_by(Job.queue)
    counted = session.execute(query)
    return {Queue(queue): count for queue, count in counted}
