"""Jobs that did not succeed: retrying, deferring, releasing and failing them."""

import logging
from datetime import datetime, timedelta

from sqlalchemy.orm import Session

from scorer.db.jobs import job_queue
from scorer.db.submissions import submissions
from scorer.db.submissions.submissions import UnexpectedStatus
from scorer.db.tables import Job, Submission
from scorer.jobs.broker import send_after_commit
from scorer.jobs.leases import STARTS, Claim, moves_submission
from scorer.lifecycle import JobState, Queue, Status
from scorer.notifications import notices

log = logging.getLogger(__name__)

OUR_FAULT = "Kennel could not process this entry because of an internal error. It does not count against your limit."

RETRIES = (timedelta(seconds=15), timedelta(seconds=60))
"""The delays before a job is due again, after its first and after later failures. Other jobs run in the meantime, which
shows whether the job or the worker is the cause."""

DEFERRALS = (timedelta(minutes=1), timedelta(minutes=5), timedelta(minutes=15))
"""The delays before a job is due again, after its first, second and later deferrals."""

MAX_DEFERRALS = 20
"""About five hours."""


def fail(session: Session, claim: Claim, *, error: str, reason: str, now: datetime) -> None:
    """Fail a job permanently because no retry can help; the team sees ``reason``.

    Does nothing if the claim no longer holds the job.
    """
    job = job_queue.lock_held(session, claim.job.id, claim.holder)
    if job is not None:
        _fail(session, job, error=error, reason=reason, now=now)


def retry_or_fail(
    session: Session, claim: Claim, *, error: str, now: datetime, max_attempts: int, factor: float = 1.0
) -> None:
    """After an internal error: schedule a retry, or fail the job after ``max_attempts``.

    ``factor`` multiplies the delays ``RETRIES``. Does nothing if the claim no longer holds the job.
    """
    job = job_queue.lock_held(session, claim.job.id, claim.holder)
    if job is not None:
        delay = factor * RETRIES[min(job.attempts, len(RETRIES)) - 1]
        retry_or_fail_locked(session, job, error=error, delay=delay, now=now, max_attempts=max_attempts)


def release(session: Session, claim: Claim, *, now: datetime) -> None:
    """Release a job immediately without counting an attempt: it was preempted, or its worker stops.

    Does nothing if the claim no longer holds the job.
    """
    job = job_queue.lock_held(session, claim.job.id, claim.holder)
    if job is not None:
        job.attempts -= 1
        _requeue(session, job, delay=timedelta(), now=now)
        send_after_commit(session, Queue(job.queue))


def defer(session: Session, claim: Claim, *, error: str, now: datetime, factor: float = 1.0) -> None:
    """Release a job without ever counting an attempt: its worker has broken down.

    It is due again after ``DEFERRALS`` (times ``factor``). Does nothing if the claim no longer holds the job.
    """
    job = job_queue.lock_held(session, claim.job.id, claim.holder)
    if job is not None:
        _defer(session, job, error=error, now=now, factor=factor)


def defer_or_fail(
    session: Session, claim: Claim, *, error: str, now: datetime, max_attempts: int, factor: float = 1.0
) -> None:
    """Release a job without counting an attempt: the worker is faulty or the operator's set-up is incomplete.

    It is due again after ``DEFERRALS`` (times ``factor``). After ``MAX_DEFERRALS``, attempts count. Does nothing if the
    claim no longer holds the job.
    """
    job = job_queue.lock_held(session, claim.job.id, claim.holder)
    if job is None:
        return
    if job.deferrals >= MAX_DEFERRALS:
        delay = factor * DEFERRALS[-1]
        retry_or_fail_locked(session, job, error=error, delay=delay, now=now, max_attempts=max_attempts)
        return
    _defer(session, job, error=error, now=now, factor=factor)


def _defer(session: Session, job: Job, *, error: str, now: datetime, factor: float) -> None:
    delay = factor * DEFERRALS[min(job.deferrals, len(DEFERRALS) - 1)]
    job.attempts -= 1
    job.deferrals += 1
    job.error = error
    _requeue(session, job, delay=delay, now=now)


def _release_hold(job: Job) -> None:
    job.state = JobState.WAITING
    job.holder = job.lease_until = None
    job.stage = job.fraction = None


def retry_or_fail_locked(
    session: Session, job: Job, *, error: str, delay: timedelta, now: datetime, max_attempts: int
) -> None:
    """Set a locked job back to waiting for ``delay``, or fail it after its last attempt."""
    if job.attempts < max_attempts:
        job.error = error
        _requeue(session, job, delay=delay, now=now)
    else:
        _fail(session, job, error=error, reason=OUR_FAULT, now=now)


def _requeue(session: Session, job: Job, *, delay: timedelta, now: datetime) -> None:
    """Set the job back to waiting, due after ``delay``; the sweep sends its message then."""
    _release_hold(job)
    job.due_at = job_queue.due_in(delay)
    if moves_submission(job):
        waiting, working = STARTS[job.queue]
        _move_submission(session, job, from_=working, to=waiting, now=now)


def _move_submission(
    session: Session,
    job: Job,
    *,
    from_: Status,
    to: Status,
    now: datetime,
    reason: str | None = None,
    finished_at: datetime | None = None,
) -> bool:
    """Move the job's submission with the job. False, without an error, if their states disagree.

    An error here would stop the sweep and all other jobs with it.
    """
    if from_ == to:
        return True
    try:
        submissions.move_submission(
            session, job.submission_ref or 0, from_=from_, to=to, now=now, reason=reason, finished_at=finished_at
        )
    except UnexpectedStatus:
        log.exception("job %s and its submission disagree", job.id)
        return False
    return True


def restart(session: Session, job: Job, *, now: datetime) -> None:
    """Restart a failed or a running job immediately and with all its attempts. ``job`` is locked.

    A submission that failed with the job waits again.
    """
    queue = Queue(job.queue)
    had_failed = job.state == JobState.FAILED
    _release_hold(job)
    job.attempts = job.deferrals = 0
    job.worker = None
    job.due_at = job_queue.due_in()
    job.finished_at = None
    job.turn = job_queue.next_turn(session, queue, job.priority, team_id=job.team_id)
    if moves_submission(job):
        waiting, working = STARTS[queue]
        stuck = Status.FAILED if had_failed else working
        _move_submission(session, job, from_=stuck, to=waiting, now=now)
    session.flush()
    send_after_commit(session, queue)


def _fail(session: Session, job: Job, *, error: str, reason: str, now: datetime) -> None:
    """Fail the job permanently. The submission also fails, unless the job is for the private track."""
    job.state = JobState.FAILED
    job.holder = job.lease_until = None
    job.error = error
    job.finished_at = now
    if moves_submission(job):
        _, working = STARTS[job.queue]
        if _move_submission(session, job, from_=working, to=Status.FAILED, now=now, reason=reason, finished_at=now):
            submission = session.get_one(Submission, job.submission_ref)
            notices.notify_end(session, submission, notices.Kind.ENTRY_FAILED, reason=reason, now=now)
