"""The sweep of leases: frees jobs whose worker has vanished, and no job whose worker could not reach the database."""

from datetime import datetime, timedelta

from sqlalchemy.orm import Session

from scorer.db.jobs import sweeps
from scorer.jobs import retries

MISSED_SWEEPS = 2
"""So many intervals between sweeps without one, and at least half of a lease, are a gap."""
EXTENDED_EVERY = 3
"""Leases are extended at most once in so many leases: where sweeps are always late, vanished workers are found, too."""


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
    return {"expired": retries.free_expired(session, now=now, max_attempts=max_attempts)}
