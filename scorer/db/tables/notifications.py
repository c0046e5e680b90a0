"""Notices, mails of the outbox, webhooks and their deliveries."""

from datetime import datetime

from sqlalchemy import CheckConstraint, ForeignKey, Index, text
from sqlalchemy.orm import Mapped, mapped_column, relationship

from scorer.db.tables.accounts import Account
from scorer.db.tables.base import EXPIRING, Table, identity


class Notice(Table):
    """A notice to a person on the site. ``link`` is a path on this site."""

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
    """Whether a person wants a kind of notice by mail. Without a row, the kind's default applies."""

    __tablename__ = "mail_choices"

    account_id: Mapped[int] = mapped_column(ForeignKey(Account.id), primary_key=True)
    kind: Mapped[str] = mapped_column(primary_key=True)
    mailed: Mapped[bool]


class Webhook(Table):
    """A URL that a person's notices are posted to."""

    __tablename__ = "webhooks"
    __table_args__ = ({"info": EXPIRING},)

    id: Mapped[int] = identity()
    account_id: Mapped[int] = mapped_column(ForeignKey(Account.id), index=True)
    url: Mapped[str]
    secret: Mapped[str]
    """The key of the signatures, in clear text because signing needs it."""
    created_at: Mapped[datetime]
    ended_at: Mapped[datetime | None]


class Delivery(Table):
    """The delivery of a notice to a webhook. ``due_at`` is when the next attempt is due. While the notice is being
    sent, it is when the sender counts as lost."""

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
    """Why the newest attempt failed. Shown to the webhook's owner."""
    created_at: Mapped[datetime]
    due_at: Mapped[datetime]
    sent_at: Mapped[datetime | None]

    webhook: Mapped[Webhook] = relationship(lazy="joined", innerjoin=True)


class Mail(Table):
    """A mail in the outbox. The state ``sending`` is committed before the mail is sent, so no mail is sent twice."""

    __tablename__ = "mails"
    __table_args__ = (
        CheckConstraint("state IN ('waiting', 'sending', 'sent', 'failed', 'unknown', 'expired')", name="state"),
        Index("ix_mails_faults", "due_at", postgresql_where=text("error IS NOT NULL")),
        Index("ix_mails_recipient", text("lower(recipient)")),
        Index("ix_mails_waiting", "due_at", postgresql_where=text("state IN ('waiting', 'sending')")),
        {"info": EXPIRING},
    )

    id: Mapped[int] = identity()
    recipient: Mapped[str]
    subject: Mapped[str]
    body: Mapped[str]
    """Plain text. Emptied after sending, because links in it are secrets."""
    link: Mapped[str | None]
    """A path on this site that is added to the text as a URL."""
    state: Mapped[str]
    attempts: Mapped[int]
    error: Mapped[str | None]
    created_at: Mapped[datetime]
    due_at: Mapped[datetime]
    expires_at: Mapped[datetime | None]
    """The mail is not sent after this time, because its content is then no longer true."""
    sent_at: Mapped[datetime | None]
