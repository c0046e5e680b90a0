"""Jobs and their leases: adding, claiming and finishing jobs. ``scorer.db.jobs.job_queue`` renews leases."""

import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy.orm import Session

from scorer.db.jobs import job_queue, pauses
from scorer.db.submissions import submissions
from scorer.db.submissions.submissions import UnexpectedStatus
from scorer.db.tables import Job, Submission, Team
from scorer.db.teams import merges
from scorer.jobs.broker import after_commit, send_after_commit
from scorer.lifecycle import UNFINISHED, JobState, Queue, Status
from scorer.monitoring.logs import annotate_request

log = logging.getLogger(__name__)

MAX_ANNOUNCED = 100
"""The most messages that a request sends for a batch of jobs, so that it does not wait for the broker. The sweep sends
the rest."""


WITHOUT_IMAGES = frozenset({Queue.EVIDENCE, Queue.RECOVER})
"""Queues with jobs that do not need a submission's decoded images. Evidence needs its features. A generator audit may
wait long and decodes the images again."""

STARTS: Mapping[str, tuple[Status, Status]] = {
    # The submission's status before and after its job starts, by queue. Private jobs do not change the visible status.
    Queue.CHECK: (Status.RECEIVED, Status.CHECKING),
    Queue.DRAW: (Status.QUEUED, Status.QUEUED),
    Queue.SCORE: (Status.QUEUED, Status.SCORING),
}


@dataclass(frozen=True)
class Claim:
    """A job that a worker holds until the lease expires. ``holder`` is the random name of this attempt."""

    job: Job
    holder: str
    queue: Queue
    submission_id: str | None
    """The public id of the submission, which connects the log records of requests and workers."""

    @property
    def public(self) -> bool:
        """Whether the job's progress is the submission's visible progress; False for the private track."""
        return self.job.priority == 0


def add_job(
    session: Session,
    queue: Queue,
    *,
    now: datetime,
    submission: Submission | None = None,
    team: Team | None = None,
    track_id: int | None = None,
    private: bool = False,
    **makes: int | str,
) -> Job:
    """Queue a job and send its message after the commit. ``team``: the submission's, if the caller has locked it.

    Public jobs come before private jobs, and jobs of shown tracks last. ``makes`` names the purpose of other jobs:
    ``preparation_id``, ``release_id`` or ``study_id`` without a submission; ``generator_id`` of a generator audit,
    ``campaign_id`` of a rescoring campaign and ``shown_track_id`` of a shown track with a submission.
    """
    priority = job_queue.SHOWN_PRIORITY if "shown_track_id" in makes else int(private)
    if team is None and submission is not None:
        team = merges.current_team(session, submission.team_id)
    team_id = None if team is None else team.id
    job = Job(
        queue=queue,
        submission_ref=submission.ref if submission is not None else None,
        track_id=track_id,
        team_id=team_id,
        state=JobState.WAITING,
        priority=priority,
        turn=job_queue.next_turn(session, queue, priority, team_id=team_id),
        due_at=job_queue.due_in(),
        attempts=0,
        created_at=now,
        **makes,
    )
    session.add(job)
    after_commit(session, lambda: annotate_request(job_id=job.id))
    send_after_commit(session, queue)
    return job


def add_comparisons(session: Session, preparation_id: int, refs: Sequence[int], *, now: datetime) -> None:
    """Queue the comparison of submissions in one feature space, ordered by submission.

    With this order the images of a submission are decoded once for all feature spaces.
    """
    session.add_all(
        Job(
            queue=Queue.COMPARE,
            submission_ref=ref,
            preparation_id=preparation_id,
            state=JobState.WAITING,
            priority=1,
            turn=ref,
            due_at=job_queue.due_in(),
            attempts=0,
            created_at=now,
        )
        for ref in refs
    )
    send_after_commit(session, Queue.COMPARE, count=min(len(refs), MAX_ANNOUNCED))


def add_in_turns(session: Session, queue: Queue, refs: Collection[int], *, now: datetime, **purpose: int | None) -> int:
    """Queue entries after public jobs, in turns between teams, for a ``purpose`` (values of columns).

    Entries with an unfinished job for the purpose are left out. Returns the number of queued entries.
    """
    count = job_queue.add_in_turns(session, queue, refs, now=now, **purpose)
    send_after_commit(session, queue, count=min(count, MAX_ANNOUNCED))
    return count


def claim_job(
    session: Session, queue: Queue, *, holder: str, worker: str, now: datetime, lease: timedelta
) -> Claim | None:
    """Claim the next due job of a queue in fair order. ``holder`` is this attempt's random name.

    None if there is none, if the worker is drained, or if the job can't start and has failed. Paused jobs are skipped.
    """
    paused = pauses.active_pauses(session)
    if paused.stops_worker(worker):
        return None
    job = job_queue.claim_next(session, queue, holder=holder, worker=worker, now=now, lease=lease, paused=paused)
    if job is None:
        return None
    if moves_submission(job):
        waiting, working = STARTS[queue]
        try:
            if waiting != working:
                submissions.move_submission(session, job.submission_ref or 0, from_=waiting, to=working, now=now)
        except UnexpectedStatus as error:  # workers would claim a job that stays in the queue again and again
            log.exception("job %s can't start", job.id)
            job_queue.update_held(
                session,
                job.id,
                holder,
                state=JobState.FAILED,
                holder=None,
                lease_until=None,
                finished_at=now,
                error=str(error),
            )
            return None
    return Claim(job, holder, queue, job.submission.id if job.submission is not None else None)


def moves_submission(job: Job) -> bool:
    """Whether the submission's visible status follows this job."""
    return job.submission_ref is not None and job.priority == 0


def finish_job(session: Session, claim: Claim, now: datetime) -> bool:
    """Close the job. False if the claim no longer holds it; the caller must then drop the result."""
    return job_queue.update_held(
        session,
        claim.job.id,
        claim.holder,
        state=JobState.DONE,
        holder=None,
        lease_until=None,
        stage=None,
        fraction=None,
        finished_at=now,
    )


def is_finished(session: Session, claim: Claim) -> bool:
    """Whether no unfinished job needs the claimed submission's images."""
    jobs = (
        job for job in job_queue.load_jobs(session, claim.job.submission_ref or 0) if job.queue not in WITHOUT_IMAGES
    )
    return not any(job.state in UNFINISHED for job in jobs)
