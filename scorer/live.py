"""Where submissions are, for whoever watches them: every step in order, and how far the present one is.

What is private stays so: jobs of the private track are not looked at, and a finished submission shows no job at all.
"""

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from sqlalchemy.orm import Session

from scorer import provisional
from scorer.db.jobs import job_queue
from scorer.db.submissions import events
from scorer.db.tables import Job
from scorer.lifecycle import PENDING, JobState, Queue, Status
from scorer.provisional import Provisional


@dataclass(frozen=True)
class Step:
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
class Progress:
    """How far the present step is: a stage (a key of ``scorer.lifecycle.STAGES``) and its finished share (0 to 1), or
    a place in the queue."""

    stage: str | None = None
    fraction: float | None = None
    queue_position: int | None = None
    estimate_seconds: int | None = field(default=None, compare=False)
    """Until the check or the score is done, judged by recent ones; not news in itself."""
    provisional: Provisional | None = None
    """A rough public score, while the final one is computed."""


@dataclass(frozen=True)
class Look:
    """What one look at a submission has found: its new steps, and how far it is."""

    steps: tuple[Step, ...]
    progress: Progress


def look(session: Session, seen: Mapping[int, int], *, now: datetime) -> dict[int, Look]:
    """Look at submissions (refs), each from the step with the given id on (0: from the first).

    The number of queries does not grow with the number of submissions, but for those that have a provisional score now:
    as many as there are workers.
    """
    steps: dict[int, list[Step]] = {ref: [] for ref in seen}
    for event in events.events_after(session, seen):
        steps[event.submission_ref].append(Step(event.id, Status(event.status), event.created_at, event.reason))
    over = {ref for ref, new in steps.items() if new and new[-1].is_last}
    progress = progress_of(session, seen.keys() - over, now=now)
    return {ref: Look(tuple(new), progress.get(ref, Progress())) for ref, new in steps.items()}


def progress_of(session: Session, refs: Collection[int], *, now: datetime) -> dict[int, Progress]:
    """How far unfinished submissions are; nothing for one that has no public job waiting or running."""
    own = events.public_jobs(session, refs) if refs else ()
    if not own:
        return {}
    positions = job_queue.positions_of(session, [job.id for job in own if job.state == JobState.WAITING])
    kinds = {(job.queue, job.track_id) for job in own}
    usual = {kind: events.usual_seconds(session, *kind) for kind in kinds}
    workers = events.count_active_workers(session, now)
    rough = provisional.of_jobs(session, [job.id for job in own if job.state == JobState.RUNNING])
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


def _running(job: Job, usual: float | None, rough: Provisional | None, now: datetime) -> Progress:
    left = None
    if usual is not None and job.started_at is not None:
        left = max(0, math.ceil(usual - (now - job.started_at).total_seconds()))
    return Progress(stage=job.stage, fraction=job.fraction, estimate_seconds=left, provisional=rough)


def _waiting(position: int | None, usual: float | None, workers: int) -> Progress:
    """Without a worker in sight nobody knows how long it takes."""
    if position is None or usual is None or workers == 0:
        return Progress(queue_position=position)
    return Progress(queue_position=position, estimate_seconds=math.ceil(usual * position / workers))
