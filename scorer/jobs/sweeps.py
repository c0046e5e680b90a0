"""The sweep: leases of vanished workers expire, and jobs that are due are announced again."""

from collections.abc import Mapping
from datetime import datetime, timedelta

from sqlalchemy.orm import Session

from scorer.db.jobs import job_queue, sweeps
from scorer.jobs.broker import send_after_commit
from scorer.jobs.retries import retry_or_fail_locked
from scorer.lifecycle import Queue

MISSED_SWEEPS = 2
"""So many intervals between sweeps without one, and at least half of a lease, are a gap."""
EXTENDED_EVERY = 3
"""Leases are extended at most once in so many leases: where sweeps are always late, vanished workers are found, too."""
MAX_SENT = 1_000
"""Messages that a sweep sends for a queue: more than workers do until the next one. A broker that has lost a million
is not kept busy by all of them."""


def sweep_leases(
    session: Session, *, now: datetime, lease: timedelta, interval: timedelta, max_attempts: int
) -> dict[str, int]:
    """Free the jobs whose lease has expired, and count the attempt. If nobody has swept for longer than sweeps take
    (``interval``), the database was away or silent, and workers could not renew their leases: these begin anew, and
    jobs whose worker has vanished as well are freed a lease later. If the last sweep is in the future, the database's
    clock has been set back, and what is due goes back with it. Returns how many jobs, by kind of change."""
    since_sweep, since_extended = sweeps.begin_sweep(session)
    if since_sweep is not None and -since_sweep > interval:
        return {"set_back": sweeps.set_back(session, -since_sweep, lease)}
    is_gap = since_sweep is not None and since_sweep > max(MISSED_SWEEPS * interval, lease / 2)
    if is_gap and (since_extended is None or since_extended > EXTENDED_EVERY * lease):
        return {"extended": sweeps.extend_expired(session, lease)}
    return {"expired": free_expired(session, now=now, max_attempts=max_attempts)}


def free_expired(session: Session, *, now: datetime, max_attempts: int) -> int:
    """Free jobs whose lease has expired; returns how many. Safe to run at any time and concurrently."""
    expired = job_queue.lock_expired(session)
    for job in expired:
        retry_or_fail_locked(
            session,
            job,
            error="The worker vanished in the middle of the job.",
            delay=timedelta(),
            now=now,
            max_attempts=max_attempts,
        )
    session.flush()
    return len(expired)


def announce_due(session: Session, announced: Mapping[Queue, int]) -> dict[str, int]:
    """Send messages for due jobs that have none (``announced``: messages waiting, by queue), at most ``MAX_SENT`` for
    each queue; returns how many, by queue, for the log."""
    sent = {}
    for queue, due in job_queue.count_due(session).items():
        missing = min(due - announced.get(queue, 0), MAX_SENT)
        if missing > 0:
            send_after_commit(session, queue, count=missing)
            sent[f"announced_{queue}"] = missing
    return sent
