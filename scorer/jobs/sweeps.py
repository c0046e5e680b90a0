"""The sweep: it frees the jobs of vanished workers and announces due jobs again."""

from collections.abc import Mapping
from datetime import datetime, timedelta

from sqlalchemy.orm import Session

from scorer.db.jobs import job_queue, sweeps
from scorer.jobs.broker import send_after_commit
from scorer.jobs.retries import retry_or_fail_locked
from scorer.lifecycle import Queue

MISSED_SWEEPS = 2
"""A gap is a time without sweeps of this many intervals, and of at least half a lease."""
EXTENDED_EVERY = 3
"""Leases are extended at most once in this many lease durations, so late sweeps do not hide vanished workers."""
MAX_SENT = 1_000
"""The most messages per queue and sweep: more jobs than workers finish before the next sweep. A broker that has lost a
million messages does not get all of them at the same time."""


def sweep_leases(
    session: Session, *, now: datetime, lease: timedelta, interval: timedelta, max_attempts: int
) -> dict[str, int]:
    """Free the jobs with expired leases and count the attempt. Returns the number of jobs by kind of change.

    After a gap between sweeps (``interval`` apart), the database was unavailable and workers could not renew their
    leases. Then all leases are extended, and jobs of vanished workers are freed a lease later. If the last sweep is in
    the future, the database's clock was set back, and due times are set back with it.
    """
    since_sweep, since_extended = sweeps.begin_sweep(session)
    if since_sweep is not None and -since_sweep > interval:
        return {"set_back": sweeps.set_back(session, -since_sweep, lease)}
    is_gap = since_sweep is not None and since_sweep > max(MISSED_SWEEPS * interval, lease / 2)
    if is_gap and (since_extended is None or since_extended > EXTENDED_EVERY * lease):
        return {"extended": sweeps.extend_expired(session, lease)}
    return {"expired": free_expired(session, now=now, max_attempts=max_attempts)}


def free_expired(session: Session, *, now: datetime, max_attempts: int) -> int:
    """Free jobs with expired leases; return their number. Safe to run at any time and concurrently."""
    expired = job_queue.lock_expired(session)
    for job in expired:
        retry_or_fail_locked(
            session,
            job,
            error="The worker vanished during the job.",
            delay=timedelta(),
            now=now,
            max_attempts=max_attempts,
        )
    session.flush()
    return len(expired)


def announce_due(session: Session, announced: Mapping[Queue, int]) -> dict[str, int]:
    """Send messages for due jobs without a message, at most ``MAX_SENT`` per queue; return their number for the log.

    ``announced``: the number of waiting messages by queue.
    """
    sent = {}
    for queue, due in job_queue.count_due(session).items():
        missing = min(due - announced.get(queue, 0), MAX_SENT)
        if missing > 0:
            send_after_commit(session, queue, count=missing)
            sent[f"announced_{queue}"] = missing
    return sent
