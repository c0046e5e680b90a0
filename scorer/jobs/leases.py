"""Claiming work and keeping it: leases, heartbeats, capped attempts, and the sweep for whatever is stuck."""

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
"""Of much new work at once so many pieces are announced, so that nobody waits for messages; the sweep does the rest."""

WITHOUT_IMAGES = frozenset({Queue.EVIDENCE, Queue.RECOVER})
"""Queues whose work on a submission looks at its features, or at its generator."""

STARTS: Mapping[str, tuple[Status, Status]] = {
    # queue -> the submission's step when its job starts; only the public track's job moves what everyone sees
    Queue.CHECK: (Status.RECEIVED, Status.CHECKING),
    Queue.SCORE: (Status.QUEUED, Status.SCORING),
}


@dataclass(frozen=True)
class Claim:
    """A job held by this worker until its lease runs out. ``holder`` is the random name of this attempt."""

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
    """Whether its progress is what everyone sees of the submission: not so for the private track."""


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
    """Put a job on a queue and announce it after the commit. Public work goes before private work. A job without a
    submission names what it ``makes``: ``preparation_id``, ``release_id`` or ``study_id``; one that recovers images has
    both its entry and ``generator_id``."""
    team_id = merges.current_team(session, submission.team_id).id if submission is not None else None
    job = Job(
        queue=queue,
        submission_ref=submission.ref if submission is not None else None,
        track_id=track_id,
        team_id=team_id,
        state=JobState.WAITING,
        priority=int(private),
        turn=job_queue.next_turn(session, queue, int(private), team_id),
        due_at=now,
        attempts=0,
        created_at=now,
        **makes,
    )
    session.add(job)
    send_after_commit(session, queue)
    return job


def add_comparisons(session: Session, preparation_id: int, refs: Sequence[int], *, now: datetime) -> None:
    """Put the comparing of entries in one space on its queue, in the order of entries: whatever spaces an entry is
    compared in, its images are decoded once."""
    session.add_all(
        Job(
            queue=Queue.COMPARE,
            submission_ref=ref,
            preparation_id=preparation_id,
            state=JobState.WAITING,
            priority=1,
            turn=ref,
            due_at=now,
            attempts=0,
            created_at=now,
        )
        for ref in refs
    )
    send_after_commit(session, Queue.COMPARE, count=min(len(refs), MAX_ANNOUNCED))


def score_all(session: Session, competition_id: int, track_id: int, *, now: datetime) -> int:
    """Queue every scored entry of a competition for a private track that is new. Returns how many they are."""
    count = job_queue.add_for_track(session, competition_id, track_id, now=now)
    send_after_commit(session, Queue.SCORE, count=min(count, MAX_ANNOUNCED))
    return count


def claim_job(
    session: Session, queue: Queue, *, holder: str, worker: str, now: datetime, lease: timedelta
) -> Claim | None:
    """Take the fairest due job of a queue, or None. ``holder`` is this attempt's random name."""
    job = job_queue.claim_next(session, queue, holder=holder, worker=worker, now=now, lease_until=now + lease)
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
    now: datetime,
    lease: timedelta,
) -> bool:
    """Extend the lease and say how far the work is; False when the job is no longer ours."""
    return job_queue.update_held(
        session, claim.job_id, claim.holder, lease_until=now + lease, stage=stage, fraction=fraction
    )


def finish_job(session: Session, claim: Claim, now: datetime) -> bool:
    """Close the job; False when it is no longer ours, and then nothing of its result may be kept."""
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
    """Whether no work is left that needs the claimed submission's images."""
    left = (job for job in job_queue.jobs_of(session, claim.submission_ref or 0) if job.queue not in WITHOUT_IMAGES)
    return not any(job.state in UNFINISHED for job in left)


def fail(session: Session, claim: Claim, *, error: str, reason: str, now: datetime) -> None:
    """End a job that no further attempt can cure; the team reads ``reason``. Nothing if the job is no longer ours."""
    job = job_queue.lock_held(session, claim.job_id, claim.holder)
    if job is not None:
        _fail(session, job, error=error, reason=reason, now=now)


def retry_or_fail(session: Session, claim: Claim, *, error: str, now: datetime, max_attempts: int) -> None:
    """After a fault of ours: let the job wait and be tried again, or end it at the cap. Nothing if the job is no
    longer this claim's."""
    job = job_queue.lock_held(session, claim.job_id, claim.holder)
    if job is not None:
        _retry_or_fail(session, job, error=error, now=now, max_attempts=max_attempts)


def release(session: Session, claim: Claim, *, now: datetime) -> None:
    """Let go of a job that something more urgent is in the way of; that was no attempt. Nothing if it is no longer
    this claim's."""
    job = job_queue.lock_held(session, claim.job_id, claim.holder)
    if job is not None:
        _release_hold(job)
        job.attempts -= 1
        job.due_at = now


def _release_hold(job: Job) -> None:
    """Let the job wait again, held by no worker; what it had done of its stages is forgotten."""
    job.state = JobState.WAITING
    job.holder = job.lease_until = None
    job.stage = job.fraction = None


def _retry_or_fail(session: Session, job: Job, *, error: str, now: datetime, max_attempts: int) -> None:
    if job.attempts < max_attempts:
        _schedule_retry(session, job, error=error, now=now)
    else:
        _fail(session, job, error=error, reason=OUR_FAULT, now=now)


def _schedule_retry(session: Session, job: Job, *, error: str, now: datetime) -> None:
    """Let the job wait again, longer after every attempt; the sweep announces it when it is due."""
    _release_hold(job)
    job.error = error
    job.due_at = now + timedelta(seconds=5 * (4 ** (job.attempts - 1) - 1) / 3)
    if _moves_submission(job):
        waiting, working = STARTS[job.queue]
        submissions.move_submission(session, job.submission_ref or 0, from_=working, to=waiting, now=now)


def restart(session: Session, job: Job, *, now: datetime) -> None:
    """Let a job that has failed, or one that is taken from its worker, be tried again at once, with all its attempts.
    ``job`` is locked. A submission that had failed with it waits again."""
    queue = Queue(job.queue)
    had_failed = job.state == JobState.FAILED
    _release_hold(job)
    job.attempts = 0
    job.due_at = now
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
    """End the job for good. The submission fails with it unless only its private track is concerned."""
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
    """Free jobs whose worker has vanished, and announce due work that has no message (``announced`` by queue).

    Returns what it did, for the log. Safe to run at any time, by anyone, twice at once.
    """
    expired = job_queue.lock_expired(session, now)
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
    for queue, due in job_queue.count_due(session, now).items():
        missing = due - announced.get(queue, 0)
        if missing > 0:
            send_after_commit(session, queue, count=missing)
            done[f"announced_{queue}"] = missing
    return done
