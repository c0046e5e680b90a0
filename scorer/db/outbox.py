"""The outbox in SQL: who is next, and what became of it."""

from datetime import datetime

from sqlalchemy import CursorResult, or_, select, update
from sqlalchemy.orm import Session

from scorer.db.tables import Mail
from scorer.lifecycle import MailState


def claim_next(session: Session, *, now: datetime, lease_until: datetime) -> Mail | None:
    """Take the mail that has waited longest; None when none is due."""
    due = (
        select(Mail.id)
        .where(
            Mail.state == MailState.WAITING, Mail.due_at <= now, or_(Mail.expires_at.is_(None), Mail.expires_at > now)
        )
        .order_by(Mail.due_at, Mail.id)
        .limit(1)
        .with_for_update(skip_locked=True)
        .scalar_subquery()
    )
    taken = update(Mail).where(Mail.id == due)
    return session.scalars(
        taken.values(state=MailState.SENDING, attempts=Mail.attempts + 1, due_at=lease_until).returning(Mail)
    ).one_or_none()


def close(session: Session, mail_id: int, *, state: MailState, **values: object) -> bool:
    """Say what became of a mail that is being sent; False if that was said already."""
    taken = (Mail.id == mail_id) & (Mail.state == MailState.SENDING)
    return _count(session.execute(update(Mail).where(taken).values(state=state, **values))) == 1


def expire(session: Session, now: datetime) -> int:
    """Close mails that say nothing true any more; how many."""
    late = (Mail.state == MailState.WAITING) & (Mail.expires_at <= now)
    return _count(session.execute(update(Mail).where(late).values(state=MailState.EXPIRED, body="")))


def lose(session: Session, now: datetime) -> int:
    """Close mails whose sender vanished: whether they left, nobody knows; how many."""
    vanished = (Mail.state == MailState.SENDING) & (Mail.due_at <= now)
    return _count(session.execute(update(Mail).where(vanished).values(state=MailState.UNKNOWN, body="")))


def _count(result: object) -> int:
    return result.rowcount if isinstance(result, CursorResult) else 0
