"""SQL for the jobs that measure entries on shown tracks."""

from collections.abc import Collection
from datetime import datetime

from sqlalchemy import BigInteger, any_, bindparam, func, literal, select
from sqlalchemy.dialects.postgresql import ARRAY, distinct_on
from sqlalchemy.orm import Session

from scorer.db.jobs import job_queue
from scorer.db.tables import Job, ShownTrack, Submission
from scorer.lifecycle import UNFINISHED, JobState, Queue


def add_jobs(session: Session, shown: ShownTrack, refs: Collection[int], *, now: datetime) -> int:
    """Add a job for each of the entries that has no unfinished one on the shown track, in turns between teams; returns
    how many."""
    busy = select(Job.submission_ref).where(Job.shown_track_id == shown.id, Job.state.in_(UNFINISHED))
    return job_queue.add_in_turns(
        session,
        Queue.RESCORE,
        Submission.ref == any_(bindparam(None, list(refs), type_=ARRAY(BigInteger))),
        Submission.ref.not_in(busy),
        now=now,
        priority=literal(job_queue.SHOWN_PRIORITY),
        shown_track_id=literal(shown.id),
    )


def cancel_jobs(session: Session, shown_id: int, now: datetime) -> None:
    """Cancel the unfinished jobs of a shown track."""
    job_queue.cancel_jobs(session, Job.shown_track_id == shown_id, now=now)


def job_states(session: Session, shown_id: int) -> dict[JobState, int]:
    """The newest jobs of the entries on a shown track, counted by state."""
    newest = (
        select(Job.state)
        .ext(distinct_on(Job.submission_ref))
        .where(Job.shown_track_id == shown_id)
        .order_by(Job.submission_ref, Job.id.desc())
        .subquery()
    )
    rows = session.execute(select(newest.c.state, func.count()).group_by(newest.c.state))
    return {JobState(state): count for state, count in rows}


def newest_error(session: Session, shown_id: int) -> str | None:
    """The error of the job of a shown track that failed last."""
    failed = select(Job.error).where(Job.shown_track_id == shown_id, Job.state == JobState.FAILED)
    return session.scalar(failed.order_by(Job.finished_at.desc()).limit(1))
