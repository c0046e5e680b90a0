"""SQL for sweeps of leases: the time of the last sweep, leases that expired while nobody could renew them, and times in
the future after a clock was set back."""

from datetime import timedelta

from sqlalchemy import Interval, func, select, type_coerce, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from scorer.db.session import count_changed
from scorer.db.tables import Delivery, Job, LastSweep, Mail
from scorer.lifecycle import DeliveryState, JobState, MailState

ROW = 1


def begin_sweep(session: Session) -> tuple[timedelta | None, timedelta | None]:
    """Record that a sweep begins. Returns the times since the last one and since leases were last extended; None for
    never.

    A sweep that overlaps waits for the one before it.
    """
    since_sweep = type_coerce(func.now() - LastSweep.swept_at, Interval)
    since_extended = type_coerce(func.now() - LastSweep.extended_at, Interval)
    row = session.execute(select(since_sweep, since_extended).with_for_update()).one_or_none()
    now = insert(LastSweep).values(id=ROW, swept_at=func.now())
    session.execute(now.on_conflict_do_update(index_elements=[LastSweep.id], set_={"swept_at": func.now()}))
    return (row[0], row[1]) if row is not None else (None, None)


def extend_expired(session: Session, lease: timedelta) -> int:
    """Extend expired leases of running jobs to a ``lease`` from now; returns how many."""
    session.execute(update(LastSweep).values(extended_at=func.now()))
    expired = update(Job).where(Job.state == JobState.RUNNING, Job.lease_until < func.now())
    return count_changed(session, expired.values(lease_until=func.now() + lease))


def set_back(session: Session, step: timedelta, lease: timedelta) -> int:
    """After a clock was set back by ``step``, move due times after now back by the same amount. No lease ends later
    than a ``lease`` from now. Returns the number of changed jobs."""
    session.execute(update(LastSweep).values(extended_at=func.least(LastSweep.extended_at, func.now())))
    for table, waiting in ((Mail, MailState.WAITING), (Delivery, DeliveryState.WAITING)):
        later = update(table).where(table.state == waiting, table.due_at > func.now())
        session.execute(later.values(due_at=func.greatest(table.due_at - step, func.now())))
    due = update(Job).where(Job.state == JobState.WAITING, Job.due_at > func.now())
    held = update(Job).where(Job.state == JobState.RUNNING, Job.lease_until > func.now() + lease)
    moved = count_changed(session, due.values(due_at=func.greatest(Job.due_at - step, func.now())))
    return moved + count_changed(session, held.values(lease_until=func.now() + lease))


def time_since_sweep(session: Session) -> timedelta | None:
    return session.scalar(select(type_coerce(func.now() - LastSweep.swept_at, Interval)))
