"""Work that is stuck: what waits, what runs, what has failed, and setting it going again."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.orm import Session

from scorer import audit, work
from scorer.competitions import State
from scorer.db.jobs import failed_jobs
from scorer.db.jobs.failed_jobs import ListedJob, QueueLoad
from scorer.db.tables import Account, Job
from scorer.errors import Conflict, NotFound
from scorer.lifecycle import JobState


@dataclass(frozen=True)
class Backlog:
    """All work that is not done: queues, jobs that run, jobs that have failed."""

    queues: Sequence[QueueLoad]
    running: Sequence[ListedJob]
    failed: Sequence[ListedJob]


def look(session: Session, now: datetime) -> Backlog:
    """What there is to do, and what went wrong."""
    return Backlog(failed_jobs.queues(session, now), failed_jobs.running(session), failed_jobs.failed(session))


def failed_private(session: Session, state: State) -> list[ListedJob]:
    """The jobs of a competition's private track that have failed for good."""
    return failed_jobs.failed(session, track_id=state.tracks["private"].id)


def restart(session: Session, job_id: int, *, author: Account, now: datetime) -> Job:
    """Set a failed job going again, or take a running one from its worker. ``NotFound`` if there is none, ``Conflict``
    if it is neither, or was replaced."""
    job = failed_jobs.lock_job(session, job_id)
    if job is None:
        raise NotFound("no-job", f"There is no job {job_id}.")
    replaced = job.state == JobState.FAILED and not failed_jobs.failed(session, only=job_id)
    if job.state not in {JobState.FAILED, JobState.RUNNING} or replaced:
        why = "a later job has taken its place" if replaced else f"it is {job.state}"
        raise Conflict("not-stuck", f"Job {job_id} is not stuck: {why}.")
    before = {"state": job.state, "attempts": job.attempts, "error": job.error}
    work.restart(session, job, now=now)
    after = {"state": job.state, "queue": job.queue}
    audit.record(session, "job.requeued", f"job:{job_id}", actor=author, now=now, before=before, after=after)
    return job


def restart_failed(session: Session, *, author: Account, now: datetime, state: State | None = None) -> int:
    """Set every failed job going again (of the private track of a competition, if one is given); how many there were.
    One entry in the audit log names them all."""
    track_id = state.tracks["private"].id if state else None
    jobs = [failed_jobs.lock_job(session, row.id) for row in failed_jobs.failed(session, track_id=track_id)]
    again = [job for job in jobs if job is not None and job.state == JobState.FAILED]
    for job in again:
        work.restart(session, job, now=now)
    if again:
        subject = f"competition:{state.competition.slug}" if state else "jobs:failed"
        before = {"failed": {str(job.id): job.error for job in again}}
        audit.record(session, "jobs.requeued", subject, actor=author, now=now, before=before)
    return len(again)
