"""Jobs and their leases: queueing, claiming, renewing, finishing, capped retries, and the sweep of expired leases."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy.orm import Session

from scorer.db.jobs import job_queue
from scorer.db.submissions import submissions
from scorer.db.tables import Job, Submission
from scorer.db.teams import merges
from scorer.jobs.broker import send_after_commit
from scorer.lifecycle import UNFINISHED, JobState, Queue, Status
from scorer.notifications import notices

OUR_FAULT = "Kennel could not finish this entry. It is our fault, not yours: the entry is not counted."

MAX_ANNOUNCED = 100
"""Messages sent at once for a large batch of jobs, so that the request does not wait for the broker; the sweep sends
the rest."""

WITHOUT_IMAGES = frozenset({Queue.EVIDENCE, Queue.RECOVER})
"""Queues whose jobs need a submission's features or its generator, but not its images."""

STARTS: Mapping[str, tuple[Status, Status]] = {
    # queue -> the submission's status before and after its job starts; private jobs do not move the visible status
    Queue.CHECK: (Status.RECEIVED, Status.CHECKING),
    Queue.SCORE: (Status.QUEUED, Status.SCORING),
}


@dataclass(frozen=True)
class Claim:
    """A job that this worker holds until its lease expires. ``holder`` is the random name of this attempt."""

    job_id: int
    holder: str
    queue: Queue
    attempt: int
    submission_ref: int | None
    track_id: int | None
    preparation_id: int | None
    release_id: str | None
    study_id: int | None
    generator_id: int | None
    public: bool
    """Whether its progress is the submission's visible progress; False for the private track."""


def add_job(
    session: Session,
    queue: Queue,
    *,
    now: datetime,
    submission: Submission | None = None,
    track_id: int | None = None,
    private: bool = False,
    **makes: int | str,
) -> Job:
    """Queue a job and send its message after the commit. Public jobs go before private ones.

    A job without a submission names in ``makes`` what it makes: ``preparation_id``, ``release_id`` or ``study_id``; a
    generator audit has both its submission and ``generator_id``.
    """
    team_id = merges.current_team(session, submission.team_id).id if submission is not None else None
    job = Job(
        queue=queue,
        submission_ref=submission.ref if submission is not None else None,
        track_id=track_id,
        team_id=team_id,
        state=JobState.WAITING,
        priority=int(private),
        turn=job_queue.next_turn(session, queue, int(private), team_id),
        due_at=job_queue.due_in(),
        attempts=0,
        created_at=now,
        **makes,
    )
    session.add(job)
    send_after_commit(session, queue)
    return job


def add_comparisons(session: Session, preparation_id: int, refs: Sequence[int], *, now: datetime) -> None:
    """Queue the comparison of submissions in one feature space, ordered by submission, so that the images of a
    submission are decoded once for all feature spaces."""
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


def score_all(session: Session, competition_id: int, track_id: int, *, now: datetime) -> int:
    """Queue every scored submission of a competition for its new private track. Returns the number of jobs."""
    count = job_queue.add_for_track(session, competition_id, track_id, now=now)
    send_after_commit(session, Queue.SCORE, count=min(count, MAX_ANNOUNCED))
    return count


def claim_job(
    session: Session, queue: Queue, *, holder: str, worker: str, now: datetime, lease: timedelta
) -> Claim | None:
    """Claim the due job of a queue that is next in fair order; None if there is none. ``holder`` is this attempt's
    random name."""
    job = job_queue.claim_next(session, queue, holder=holder, worker=worker, now=now, lease=lease)
    if job is None:
        return None
    if _moves_submission(job):
        waiting, working = STARTS[queue]
        submissions.move_submission(session, job.submission_ref or 0, from_=waiting, to=working, now=now)
    return Claim(
        job_id=job.id,
        holder=holder,
        queue=queue,
        attempt=job.attempts,
        submission_ref=job.submission_ref,
        track_id=job.track_id,
        preparation_id=job.preparation_id,
        release_id=job.release_id,
        study_id=job.study_id,
        generator_id=job.generator_id,
        public=job.priority == 0,
    )


def _moves_submission(job: Job) -> bool:
    return job.submission_ref is not None and job.priority == 0


def renew_lease(
    session: Session,
    claim: Claim,
    *,
    stage: str | None,
    fraction: float | None,
    lease: timedelta,
) -> bool:
    """Extend the lease and record the progress; False if the claim no longer holds the job."""
    return job_queue.renew_lease(session, claim.job_id, claim.holder, lease=lease, stage=stage, fraction=fraction)


def finish_job(session: Session, claim: Claim, now: datetime) -> bool:
    """Close the job; False if the claim no longer holds it: then the caller must drop the result."""
    return job_queue.update_held(
        session,
        claim.job_id,
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
    jobs = (job for job in job_queue.jobs_of(session, claim.submission_ref or 0) if job.queue not in WITHOUT_IMAGES)
    return not any(job.state in UNFINISHED for job in jobs)


def fail(session: Session, claim: Claim, *, error: str, reason: str, now: datetime) -> None:
    """Fail a job for good because no retry can help; the team reads ``reason``. Does nothing if the claim no longer
    holds the job."""
    job = job_queue.lock_held(session, claim.job_id, claim.holder)
    if job is not None:
        _fail(session, job, error=error, reason=reason, now=now)


def retry_or_fail(session: Session, claim: Claim, *, error: str, now: datetime, max_attempts: int) -> None:
    """After an internal error: schedule a retry, or fail the job after ``max_attempts``. Does nothing if the claim no
    longer holds the job."""
    job = job_queue.lock_held(session, claim.job_id, claim.holder)
    if job is not None:
        _retry_or_fail(session, job, error=error, now=now, max_attempts=max_attempts)


def release(session: Session, claim: Claim) -> None:
    """Release a preempted job at once, without counting an attempt. Does nothing if the claim no longer holds the
    job."""
    job = job_queue.lock_held(session, claim.job_id, claim.holder)
    if job is not None:
        _release_hold(job)
        job.attempts -= 1
        job.due_at = job_queue.due_in()


def _release_hold(job: Job) -> None:
    """Set the job back to waiting, without holder, lease and progress."""
    job.state = JobState.WAITING
    job.holder = job.lease_until = None
    job.stage = job.fraction = None


def _retry_or_fail(session: Session, job: Job, *, error: str, now: datetime, max_attempts: int) -> None:
    if job.attempts < max_attempts:
        _schedule_retry(session, job, error=error, now=now)
    else:
        _fail(session, job, error=error, reason=OUR_FAULT, now=now)


def _schedule_retry(session: Session, job: Job, *, error: str, now: datetime) -> None:
    """Set the job back to waiting with exponential backoff (0, 5, 25, ... s); the sweep sends its message when it is
    due."""
    _release_hold(job)
    job.error = error
    job.due_at = job_queue.due_in(timedelta(seconds=5 * (4 ** (job.attempts - 1) - 1) / 3))
    if _moves_submission(job):
        waiting, working = STARTS[job.queue]
        submissions.move_submission(session, job.submission_ref or 0, from_=working, to=waiting, now=now)


def restart(session: Session, job: Job, *, now: datetime) -> None:
    """Restart a failed job, or a running one taken from its worker, at once and with all its attempts. ``job`` is
    locked. A submission that failed with the job waits again."""
    queue = Queue(job.queue)
    had_failed = job.state == JobState.FAILED
    _release_hold(job)
    job.attempts = 0
    job.due_at = job_queue.due_in()
    job.finished_at = None
    job.turn = job_queue.next_turn(session, queue, job.priority, job.team_id)
    if _moves_submission(job):
        waiting, working = STARTS[queue]
        stuck = Status.FAILED if had_failed else working
        submissions.move_submission(
            session, job.submission_ref or 0, from_=stuck, to=waiting, now=now, finished_at=None
        )
    session.flush()
    send_after_commit(session, queue)


def _fail(session: Session, job: Job, *, error: str, reason: str, now: datetime) -> None:
    """Fail the job for good; the submission fails with it unless the job is of the private track."""
    job.state = JobState.FAILED
    job.holder = job.lease_until = None
    job.error = error
    job.finished_at = now
    if _moves_submission(job):
        _, working = STARTS[job.queue]
        submissions.move_submission(
            session,
            job.submission_ref or 0,
            from_=working,
            to=Status.FAILED,
            now=now,
            reason=reason,
            finished_at=now,
        )
        submission = session.get_one(Submission, job.submission_ref)
        notices.notify_end(session, submission, notices.Kind.ENTRY_FAILED, reason=reason, now=now)


def sweep_jobs(session: Session, *, now: datetime, max_attempts: int, announced: Mapping[Queue, int]) -> dict[str, int]:
    """Free jobs whose lease has expired, and send messages for due jobs that have none (``announced``: messages
    waiting, by queue).

    Returns counts for the log. Safe to run at any time and concurrently.
    """
    expired = job_queue.lock_expired(session)
    for job in expired:
        _retry_or_fail(
            session,
            job,
            error="The worker vanished in the middle of the work.",
            now=now,
            max_attempts=max_attempts,
        )
    session.flush()
    done = {"expired": len(expired)}
    for queue, due in job_queue.count_due(session).items():
        missing = due - announced.get(queue, 0)
        if missing > 0:
            send_after_commit(session, queue, count=missing)
            done[f"announced_{queue}"] = missing
    return done
