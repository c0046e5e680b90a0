"""Accounts and how they sign in: passwords, outside identities, sessions, tokens, one-time links."""

from datetime import datetime

from sqlalchemy import CheckConstraint, ForeignKey, Index, LargeBinary, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column, relationship

from scorer.db.tables.base import EXPIRING, Table, identity


class Account(Table):
    """A person."""

    __tablename__ = "accounts"
    __table_args__ = (
        CheckConstraint("role IN ('participant', 'reviewer', 'organizer', 'admin')", name="role"),
        Index("uq_accounts_handle", text("lower(handle)"), unique=True),
        Index("uq_accounts_email", text("lower(email)"), unique=True),
        Index("ix_accounts_name", text("lower(NORMALIZE(name, NFKC))")),
    )

    id: Mapped[int] = identity()
    handle: Mapped[str]
    name: Mapped[str]
    role: Mapped[str]
    email: Mapped[str | None]
    """Only once its owner has shown that it is theirs; shown to nobody else."""
    password_hash: Mapped[str | None]
    """argon2id in PHC form; None for an account that has only tokens or an outside identity."""
    created_at: Mapped[datetime]


class Token(Table):
    """An API token; only its SHA-256 is kept."""

    __tablename__ = "tokens"

    id: Mapped[int] = identity()
    account_id: Mapped[int] = mapped_column(ForeignKey(Account.id), index=True)
    digest: Mapped[bytes] = mapped_column(LargeBinary, unique=True)
    name: Mapped[str]
    scopes: Mapped[list[str]]
    created_at: Mapped[datetime]
    last_used_at: Mapped[datetime | None]
    revoked_at: Mapped[datetime | None]

    account: Mapped[Account] = relationship(lazy="joined", innerjoin=True)


class WebSession(Table):
    """A browser that is signed in; only the SHA-256 of its cookie is kept."""

    __tablename__ = "web_sessions"
    __table_args__ = ({"info": EXPIRING},)

    id: Mapped[int] = identity()
    account_id: Mapped[int] = mapped_column(ForeignKey(Account.id), index=True)
    digest: Mapped[bytes] = mapped_column(LargeBinary, unique=True)
    address: Mapped[str]
    agent: Mapped[str]
    """What the browser calls itself, so that its owner knows it again."""
    created_at: Mapped[datetime]
    last_seen_at: Mapped[datetime]
    expires_at: Mapped[datetime]
    ended_at: Mapped[datetime | None]

    account: Mapped[Account] = relationship(lazy="joined", innerjoin=True)


class OneTimeLink(Table):
    """A link that works once and not for long: a password reset, an address to confirm, an invitation."""

    __tablename__ = "one_time_links"
    __table_args__ = (
        CheckConstraint("purpose IN ('reset', 'confirmation', 'invitation')", name="purpose"),
        {"info": EXPIRING},
    )

    id: Mapped[int] = identity()
    digest: Mapped[bytes] = mapped_column(LargeBinary, unique=True)
    purpose: Mapped[str]
    account_id: Mapped[int | None] = mapped_column(ForeignKey(Account.id), index=True)
    """Whose password or address; None for an invitation."""
    email: Mapped[str | None]
    """The address that following the link confirms."""
    created_at: Mapped[datetime]
    expires_at: Mapped[datetime]
    used_at: Mapped[datetime | None]

    account: Mapped[Account | None] = relationship(lazy="joined")


class Identity(Table):
    """Who somebody is to an OpenID Connect issuer."""

    __tablename__ = "identities"
    __table_args__ = (UniqueConstraint("issuer", "subject"),)

    id: Mapped[int] = identity()
    account_id: Mapped[int] = mapped_column(ForeignKey(Account.id), index=True)
    issuer: Mapped[str]
    subject: Mapped[str]
    created_at: Mapped[datetime]

    account: Mapped[Account] = relationship(lazy="joined", innerjoin=True)
