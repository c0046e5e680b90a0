"""Progress of submissions: status events, place in the queue, stage and estimate."""

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from sqlalchemy.orm import Session

from scorer.db.jobs import job_queue
from scorer.db.submissions import events
from scorer.db.tables import Job, Submission
from scorer.lifecycle import PENDING, JobState, Queue, Status
from scorer.submissions import provisional_scores
from scorer.submissions.provisional_scores import ProvisionalScore


@dataclass(frozen=True)
class SubmissionStep:
    """A status that a submission has reached. ``id`` grows from step to step: the version of its state."""

    id: int
    status: Status
    at: datetime
    reason: str | None = None

    @property
    def is_last(self) -> bool:
        """Whether nothing can follow."""
        return self.status not in PENDING


@dataclass(frozen=True)
class SubmissionProgress:
    """How far the present step is: a stage (a key of ``scorer.lifecycle.STAGES``) and its finished share (0 to 1), or
    a place in the queue."""

    stage: str | None = None
    fraction: float | None = None
    queue_position: int | None = None
    estimate_seconds: int | None = field(default=None, compare=False)
    """Until the check or the score is done, judged by recent ones; not news in itself."""
    provisional: ProvisionalScore | None = None
    """A rough public score, while the final one is computed."""


@dataclass(frozen=True)
class StatusSnapshot:
    """What one look at a submission has found: its new steps, and how far it is."""

    steps: tuple[SubmissionStep, ...]
    progress: SubmissionProgress


def status_snapshots(session: Session, seen: Mapping[int, int], *, now: datetime) -> dict[int, StatusSnapshot]:
    """Look at submissions (refs), each from the step with the given id on (0: from the first).

    The number of queries does not grow with the number of submissions, but for those that have a provisional score now:
    as many as there are workers.
    """
    steps: dict[int, list[SubmissionStep]] = {ref: [] for ref in seen}
    for event in events.events_after(session, seen):
        steps[event.submission_ref].append(
            SubmissionStep(event.id, Status(event.status), event.created_at, event.reason)
        )
    over = {ref for ref, new in steps.items() if new and new[-1].is_last}
    progress = progress_of(session, seen.keys() - over, now=now)
    return {ref: StatusSnapshot(tuple(new), progress.get(ref, SubmissionProgress())) for ref, new in steps.items()}


def progress_of(session: Session, refs: Collection[int], *, now: datetime) -> dict[int, SubmissionProgress]:
    """How far unfinished submissions are; nothing for one that has no public job waiting or running."""
    own = events.public_jobs(session, refs) if refs else ()
    if not own:
        return {}
    positions = job_queue.positions_of(session, [job.id for job in own if job.state == JobState.WAITING])
    kinds = {(job.queue, job.track_id) for job in own}
    usual = {kind: events.usual_seconds(session, *kind) for kind in kinds}
    workers = events.count_active_workers(session, now)
    rough = provisional_scores.provisional_scores_of_jobs(
        session, [job.id for job in own if job.state == JobState.RUNNING]
    )
    found = {}
    for job in own:
        seconds = usual[job.queue, job.track_id]
        hands = workers.get(Queue(job.queue), 0)
        found[job.submission_ref or 0] = (
            _running(job, seconds, rough.get(job.submission_ref or 0), now)
            if job.state == JobState.RUNNING
            else _waiting(positions.get(job.id), seconds, hands)
        )
    return found


def _running(job: Job, usual: float | None, rough: ProvisionalScore | None, now: datetime) -> SubmissionProgress:
    left = None
    if usual is not None and job.started_at is not None:
        left = max(0, math.ceil(usual - (now - job.started_at).total_seconds()))
    return SubmissionProgress(stage=job.stage, fraction=job.fraction, estimate_seconds=left, provisional=rough)


def _waiting(position: int | None, usual: float | None, workers: int) -> SubmissionProgress:
    """Without a worker in sight nobody knows how long it takes."""
    if position is None or usual is None or workers == 0:
        return SubmissionProgress(queue_position=position)
    return SubmissionProgress(queue_position=position, estimate_seconds=math.ceil(usual * position / workers))


@dataclass(frozen=True)
class JobProgress:
    """Where the jobs of a submission are, the private track's included. ``fraction`` (0 to 1) is of the current stage.
    What listeners are told, with estimates and without the private track:
    :class:`scorer.submissions.progress.SubmissionProgress`."""

    stage: str | None
    fraction: float | None
    queue_position: int | None
    private_state: str | None


def progress_of_one(session: Session, submission: Submission) -> JobProgress:
    """How far a submission is, from its jobs."""
    own = job_queue.jobs_of(session, submission.ref)
    shown = [job for job in own if job.priority == 0]
    running = next((job for job in shown if job.state == JobState.RUNNING), None)
    waiting = next((job for job in shown if job.state == JobState.WAITING), None)
    private = [job for job in own if job.priority > 0 and job.queue == Queue.SCORE]
    return JobProgress(
        stage=running.stage if running else None,
        fraction=running.fraction if running else None,
        queue_position=_position(session, waiting),
        private_state=private[-1].state if private else None,
    )


def _position(session: Session, job: Job | None) -> int | None:
    return None if job is None else job_queue.position_of(session, job)
