"""What was done, and what has to be told: the audit log and the outbox of mails."""

from datetime import datetime
from typing import Any

from sqlalchemy import CheckConstraint, ForeignKey, Index, text
from sqlalchemy.orm import Mapped, mapped_column

from scorer.db.tables.base import APPEND_ONLY, PASSING, Table, identity
from scorer.db.tables.people import Account


class AuditEntry(Table):
    """One act: who, when, what, before, after."""

    __tablename__ = "audit_entries"
    __table_args__ = ({"info": APPEND_ONLY},)

    id: Mapped[int] = identity()
    created_at: Mapped[datetime] = mapped_column(index=True)
    actor_id: Mapped[int | None] = mapped_column(ForeignKey(Account.id), index=True)
    """None: nobody is signed in, or the operator acted at the machine itself."""
    action: Mapped[str]
    """``noun.verb``, for example ``threshold.chosen``."""
    subject: Mapped[str]
    """``noun:name`` of the thing, for example ``account:ada``."""
    address: Mapped[str | None]
    """Where the request came from, where that is known."""
    before: Mapped[dict[str, Any] | None]
    after: Mapped[dict[str, Any] | None]


class Mail(Table):
    """A mail to send. ``sending`` is written before the mail leaves, so that no mail leaves twice."""

    __tablename__ = "mails"
    __table_args__ = (
        CheckConstraint("state IN ('waiting', 'sending', 'sent', 'failed', 'unknown', 'expired')", name="state"),
        Index("ix_mails_waiting", "due_at", postgresql_where=text("state IN ('waiting', 'sending')")),
        {"info": PASSING},
    )

    id: Mapped[int] = identity()
    recipient: Mapped[str]
    subject: Mapped[str]
    body: Mapped[str]
    """Plain text; emptied once it has left, because links in it are secrets."""
    link: Mapped[str | None]
    """A path on this site that is put under the text, as an address."""
    state: Mapped[str]
    attempts: Mapped[int]
    error: Mapped[str | None]
    created_at: Mapped[datetime]
    due_at: Mapped[datetime]
    expires_at: Mapped[datetime | None]
    """From then on it says nothing true any more and is not sent."""
    sent_at: Mapped[datetime | None]
