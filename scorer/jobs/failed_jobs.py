"""Unfinished jobs: waiting, running and failed jobs, and restarting a stuck job."""

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import ConfigDict
from sqlalchemy.orm import Session

from scorer import audit_log
from scorer.acting import Acting
from scorer.db.jobs import failed_jobs
from scorer.db.jobs.failed_jobs import ListedJob, QueueLoad
from scorer.db.jobs.pauses import ListedPause, list_pauses
from scorer.db.tables import Job
from scorer.errors import Conflict, NotFound
from scorer.jobs import retries
from scorer.lifecycle import JobState


@dataclass(frozen=True)
class UnfinishedJobs:
    """All jobs that are not done: the load of each queue, running and failed jobs, and pauses."""

    __pydantic_config__ = ConfigDict(use_attribute_docstrings=True)

    queues: Sequence[QueueLoad]
    running: Sequence[ListedJob]
    failed: Sequence[ListedJob]
    """Failed jobs without further retries that no later job has replaced."""
    pauses: Sequence[ListedPause]
    """The queues, competitions and workers that are paused."""


def read_unfinished(session: Session) -> UnfinishedJobs:
    return UnfinishedJobs(
        failed_jobs.queues(session), failed_jobs.running(session), failed_jobs.failed(session), list_pauses(session)
    )


def restart(acting: Acting, job_id: int) -> Job:
    """Restart a failed job, or take a running job from its worker and restart it.

    ``NotFound`` if there is no such job, ``Conflict`` unless it is failed or running and not replaced by a later job.
    """
    job = failed_jobs.lock_job(acting.session, job_id)
    if job is None:
        raise NotFound("no-job", f"There is no job {job_id}.")
    replaced = job.state == JobState.FAILED and not failed_jobs.failed(acting.session, only=job_id)
    if job.state not in {JobState.FAILED, JobState.RUNNING} or replaced:
        why = "a later job has replaced it" if replaced else f"it is {job.state}"
        raise Conflict("not-stuck", f"Job {job_id} can't be restarted because {why}.")
    before = {"state": job.state, "attempts": job.attempts, "error": job.error}
    retries.restart(acting.session, job, now=acting.now)
    after = {"state": job.state, "queue": job.queue}
    audit_log.record_action(acting, "job.requeued", f"job:{job_id}", before=before, after=after)
    return job
