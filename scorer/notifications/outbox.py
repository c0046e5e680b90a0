"""The outbox: mails as rows, written in the transaction of their cause and sent by a worker after the commit.

Delivery is at most once. ``claim_mail`` is committed before the mail leaves. If the sender dies after that, the mail
may be sent, so it is not retried. A mail that the server refuses temporarily is retried for four days, as RFC 5321
recommends. While the server accepts no mail at all, mails wait without losing attempts.
"""

from datetime import datetime, timedelta

from sqlalchemy.orm import Session

from scorer.db import notifications
from scorer.db.notifications import MailFault
from scorer.db.tables import Mail
from scorer.lifecycle import MailState

MAX_ATTEMPTS = 100
FIRST_RETRY_AFTER = timedelta(minutes=1)
"""The delay before the second attempt and after each outage of the server. It doubles with each further attempt."""
MAX_RETRY_AFTER = timedelta(hours=1)
SHOWN = timedelta(days=7)
SENDING_LEASE = timedelta(minutes=10)


def queue_mail(
    session: Session, recipient: str, subject: str, *, body: str, now: datetime, expires_at: datetime | None = None
) -> Mail:
    """Queue a plain-text mail. It is sent after the commit, and dropped if it is not sent by ``expires_at``."""
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
    """Claim the next mail to send; None if there is none. The caller commits before it sends."""
    return notifications.claim_mail(session, now=now, lease_until=now + SENDING_LEASE)


def mark_sent(session: Session, mail: Mail, *, now: datetime) -> None:
    notifications.close_mail(session, mail.id, state=MailState.SENT, sent_at=now, body="", error=None)


def record_refusal(session: Session, mail: Mail, *, error: str, now: datetime, permanent: bool) -> None:
    """Record that the server has certainly not accepted a mail.

    Schedule a retry, or close the mail if the error is permanent or no attempts are left.
    """
    if permanent or mail.attempts >= MAX_ATTEMPTS:
        notifications.close_mail(session, mail.id, state=MailState.FAILED, error=error, body="")
    else:
        doublings = min(mail.attempts - 1, 6)
        due_at = now + min(FIRST_RETRY_AFTER * 2**doublings, MAX_RETRY_AFTER)
        notifications.close_mail(session, mail.id, state=MailState.WAITING, error=error, due_at=due_at)


def defer(session: Session, mail: Mail, *, error: str, now: datetime) -> None:
    """Let a mail wait because the server accepts no mail at all. This does not count as an attempt."""
    due_at, attempts = now + FIRST_RETRY_AFTER, mail.attempts - 1
    notifications.close_mail(session, mail.id, state=MailState.WAITING, error=error, due_at=due_at, attempts=attempts)


def mark_lost(session: Session, mail: Mail, *, error: str) -> None:
    notifications.close_mail(session, mail.id, state=MailState.UNKNOWN, error=error, body="")


def list_faults(session: Session, now: datetime) -> list[MailFault]:
    """Return why mails wait or, within the last week, were not sent; newest reasons first."""
    return notifications.mail_faults(session, now - SHOWN)


def sweep_mails(session: Session, now: datetime) -> dict[str, int]:
    """Close expired mails and mails of dead senders; return the number of each."""
    return {
        "expired": notifications.expire_mails(session, now),
        "unknown": notifications.close_lost_mails(session, now),
    }
