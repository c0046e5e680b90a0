"""Notices, mails of the outbox, webhooks and their deliveries."""

from datetime import datetime

from sqlalchemy import CheckConstraint, ForeignKey, Index, text
from sqlalchemy.orm import Mapped, mapped_column, relationship

from scorer.db.tables.accounts import Account
from scorer.db.tables.base import EXPIRING, Table, identity
from scorer.db.tables.teams import Team


class Notice(Table):
    """What a person must learn. ``link`` is a path on this site."""

    __tablename__ = "notices"
    __table_args__ = (
        Index("ix_notices_account", "account_id", text("id DESC")),
        Index("ix_notices_unread", "account_id", postgresql_where=text("read_at IS NULL")),
    )

    id: Mapped[int] = identity()
    account_id: Mapped[int] = mapped_column(ForeignKey(Account.id))
    kind: Mapped[str]
    subject: Mapped[str]
    body: Mapped[str]
    link: Mapped[str]
    created_at: Mapped[datetime]
    read_at: Mapped[datetime | None]


class MailChoice(Table):
    """Whether a person wants a kind of notice by mail; without a row, the kind's own custom counts."""

    __tablename__ = "mail_choices"

    account_id: Mapped[int] = mapped_column(ForeignKey(Account.id), primary_key=True)
    kind: Mapped[str] = mapped_column(primary_key=True)
    mailed: Mapped[bool]


class Webhook(Table):
    """An address that a person's notices, or a team's, are posted to."""

    __tablename__ = "webhooks"
    __table_args__ = ({"info": EXPIRING},)

    id: Mapped[int] = identity()
    account_id: Mapped[int] = mapped_column(ForeignKey(Account.id), index=True)
    """Who has made it, and whose notices it gets unless it is a team's."""
    team_id: Mapped[int | None] = mapped_column(ForeignKey(Team.id), index=True)
    url: Mapped[str]
    secret: Mapped[str]
    """The key of the signatures: a hash would not do."""
    created_at: Mapped[datetime]
    ended_at: Mapped[datetime | None]

    team: Mapped[Team | None] = relationship(lazy="joined")


class Delivery(Table):
    """A notice on its way to a webhook. ``due_at`` is when the next attempt is due, or, while it is being sent, when
    its sender counts as lost."""

    __tablename__ = "deliveries"
    __table_args__ = (
        CheckConstraint("state IN ('waiting', 'sending', 'sent', 'failed')", name="state"),
        Index(
            "ix_deliveries_waiting", "webhook_id", "due_at", postgresql_where=text("state IN ('waiting', 'sending')")
        ),
        Index("ix_deliveries_webhook", "webhook_id", text("id DESC")),
        {"info": EXPIRING},
    )

    id: Mapped[int] = identity()
    webhook_id: Mapped[int] = mapped_column(ForeignKey(Webhook.id))
    kind: Mapped[str]
    subject: Mapped[str]
    body: Mapped[str]
    link: Mapped[str]
    state: Mapped[str]
    attempts: Mapped[int]
    error: Mapped[str | None]
    """Why the newest attempt did not do; its owner reads it."""
    created_at: Mapped[datetime]
    due_at: Mapped[datetime]
    sent_at: Mapped[datetime | None]

    webhook: Mapped[Webhook] = relationship(lazy="joined", innerjoin=True)


class Mail(Table):
    """A mail to send. ``sending`` is written before the mail leaves, so that no mail leaves twice."""

    __tablename__ = "mails"
    __table_args__ = (
        CheckConstraint("state IN ('waiting', 'sending', 'sent', 'failed', 'unknown', 'expired')", name="state"),
        Index("ix_mails_waiting", "due_at", postgresql_where=text("state IN ('waiting', 'sending')")),
        {"info": EXPIRING},
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
