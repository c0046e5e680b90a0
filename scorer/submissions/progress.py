"""Progress of submissions: status events, queue position, stage and estimated time."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from sqlalchemy.orm import Session

from scorer.db.jobs import job_queue, pauses
from scorer.db.submissions import events
from scorer.db.tables import Job
from scorer.lifecycle import PENDING, JobState, Status
from scorer.submissions import waiting_times
from scorer.submissions.waiting_times import WaitingTimes


@dataclass(frozen=True)
class SubmissionStep:
    """A status that a submission has reached. ``id`` increases with every step and is the version of its state."""

    id: int
    status: Status
    at: datetime
    reason: str | None = None

    @property
    def is_last(self) -> bool:
        return self.status not in PENDING


@dataclass(frozen=True)
class SubmissionProgress:
    """Progress within the current status: a stage (a key of ``scorer.lifecycle.STAGES``) with its finished fraction (0
    to 1), or a queue position."""

    stage: str | None = None
    fraction: float | None = None
    queue_position: int | None = None
    paused: bool = False
    """Whether an admin has paused its queue, its competition or all workers."""
    estimate_seconds: int | None = field(default=None, compare=False)
    """Expected seconds until the public score (:mod:`scorer.submissions.waiting_times`). A new estimate alone is not an
    update."""


@dataclass(frozen=True)
class StatusSnapshot:
    """The new steps and the progress of a submission at one moment."""

    steps: tuple[SubmissionStep, ...]
    progress: SubmissionProgress


def status_snapshots(session: Session, seen: Mapping[int, int], *, now: datetime) -> dict[int, StatusSnapshot]:
    """Return snapshots of submissions by ref, each with the steps after the given step id (0: all).

    The number of queries does not grow with the number of submissions.
    """
    steps: dict[int, list[SubmissionStep]] = {ref: [] for ref in seen}
    for event in events.events_after(session, seen):
        steps[event.submission_ref].append(
            SubmissionStep(event.id, Status(event.status), event.created_at, event.reason)
        )
    finished = {ref for ref, new in steps.items() if new and new[-1].is_last}
    progress = load_progress(session, seen.keys() - finished, now=now)
    return {ref: StatusSnapshot(tuple(new), progress.get(ref, SubmissionProgress())) for ref, new in steps.items()}


def load_progress(session: Session, refs: Collection[int], *, now: datetime) -> dict[int, SubmissionProgress]:
    """Return the progress of unfinished submissions with a waiting or running public job, by ref."""
    jobs = events.public_jobs(session, refs) if refs else ()
    if not jobs:
        return {}
    times = waiting_times.read_waiting_times(session, jobs, now=now)
    paused = pauses.paused_among(session, [job.id for job in jobs if job.state == JobState.WAITING])
    return {
        ref: SubmissionProgress(queue_position=times.positions.get(job.id), paused=True)
        if job.id in paused
        else _progress(job, times)
        for job in jobs
        if (ref := job.submission_ref) is not None
    }


def _progress(job: Job, times: WaitingTimes) -> SubmissionProgress:
    seconds = times.seconds_until_score(job)
    if job.state == JobState.RUNNING:
        return SubmissionProgress(stage=job.stage, fraction=job.fraction, estimate_seconds=seconds)
    return SubmissionProgress(queue_position=times.positions.get(job.id), estimate_seconds=seconds)


@dataclass(frozen=True)
class JobProgress:
    """Progress of a submission's jobs, including the private track's. ``fraction`` (0 to 1): of the current stage.

    Subscribers get :class:`SubmissionProgress` instead, with an estimate and without the private track.
    """

    stage: str | None = None
    fraction: float | None = None
    queue_position: int | None = None
    paused: bool = False
    private_state: str | None = None


def load_job_progress(session: Session, refs: Collection[int]) -> dict[int, JobProgress]:
    """Return the progress of submissions' jobs by ref. The number of queries does not grow with the submissions."""
    if not refs:
        return {}
    jobs: dict[int, list[Job]] = {ref: [] for ref in refs}
    for job in job_queue.jobs_in_sight(session, refs):
        jobs[job.submission_ref or 0].append(job)
    waiting = [job.id for of_one in jobs.values() for job in of_one if _waits_publicly(job)]
    positions = job_queue.load_positions(session, waiting)
    paused = pauses.paused_among(session, waiting)
    return {ref: _job_progress(of_one, positions, paused) for ref, of_one in jobs.items()}


def _waits_publicly(job: Job) -> bool:
    return job.priority == 0 and job.state == JobState.WAITING


def _job_progress(jobs: Sequence[Job], positions: Mapping[int, int], paused: Collection[int]) -> JobProgress:
    running = next((job for job in jobs if job.priority == 0 and job.state == JobState.RUNNING), None)
    waiting = next(filter(_waits_publicly, jobs), None)
    private = [job for job in jobs if job.priority > 0]
    return JobProgress(
        stage=running.stage if running else None,
        fraction=running.fraction if running else None,
        queue_position=positions.get(waiting.id) if waiting else None,
        paused=waiting is not None and waiting.id in paused,
        private_state=private[-1].state if private else None,
    )
