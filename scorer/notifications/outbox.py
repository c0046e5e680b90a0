"""The outbox: a mail is a row, written by the transaction of what it tells, and sent by a worker after the commit.

No mail leaves twice. ``claim`` is committed before the mail leaves; a sender that vanishes after that may or may not
have sent it, so nobody tries again. What the server has certainly not taken is tried again, later and later.
"""

from datetime import datetime, timedelta

from sqlalchemy.orm import Session

from scorer.db import notifications
from scorer.db.tables import Mail
from scorer.lifecycle import MailState

MAX_ATTEMPTS = 8
FIRST_RETRY_AFTER = timedelta(minutes=1)
"""Before the second attempt; twice as long before each further one, two hours in all."""
SENDING_LEASE = timedelta(minutes=10)


def queue_mail(
    session: Session, recipient: str, subject: str, body: str, *, now: datetime, expires_at: datetime | None = None
) -> Mail:
    """Have a plain-text mail sent once this transaction has committed, unless it is still here at ``expires_at``."""
    mail = Mail(
        recipient=recipient,
        subject=subject,
        body=body,
        link=None,
        state=MailState.WAITING,
        attempts=0,
        created_at=now,
        due_at=now,
        expires_at=expires_at,
    )
    session.add(mail)
    session.flush()
    return mail


def claim_mail(session: Session, now: datetime) -> Mail | None:
    """The next mail to send, or None. Commit before you send it."""
    return notifications.claim_mail(session, now=now, lease_until=now + SENDING_LEASE)


def mark_sent(session: Session, mail: Mail, *, now: datetime) -> None:
    """It has left."""
    notifications.close_mail(session, mail.id, state=MailState.SENT, sent_at=now, body="", error=None)


def record_refusal(session: Session, mail: Mail, *, error: str, now: datetime, permanent: bool) -> None:
    """It has certainly not left: it waits for another attempt, or is given up."""
    if permanent or mail.attempts >= MAX_ATTEMPTS:
        notifications.close_mail(session, mail.id, state=MailState.FAILED, error=error, body="")
    else:
        due_at = now + FIRST_RETRY_AFTER * 2 ** (mail.attempts - 1)
        notifications.close_mail(session, mail.id, state=MailState.WAITING, error=error, due_at=due_at)


def mark_lost(session: Session, mail: Mail, *, error: str) -> None:
    """Whether it has left, nobody knows."""
    notifications.close_mail(session, mail.id, state=MailState.UNKNOWN, error=error, body="")


def sweep_mails(session: Session, now: datetime) -> dict[str, int]:
    """Close what has expired and what a vanished sender has left; how many of each."""
    return {
        "expired": notifications.expire_mails(session, now),
        "unknown": notifications.close_lost_mails(session, now),
    }
