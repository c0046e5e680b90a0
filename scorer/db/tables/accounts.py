"""Accounts and their credentials: passwords, OpenID Connect identities, API tokens, sessions, second factors, one-time
links."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from sqlalchemy import BigInteger, CheckConstraint, ForeignKey, Index, LargeBinary, UniqueConstraint, false, text
from sqlalchemy.orm import Mapped, declared_attr, mapped_column, relationship

from scorer.db.tables.base import EXPIRING, Table, identity

if TYPE_CHECKING:
    from scorer.db.tables.competitions import CompetitionRole
    from scorer.db.tables.teams import Membership


class Account(Table):
    __tablename__ = "accounts"
    __table_args__ = (
        CheckConstraint("role IN ('participant', 'organizer', 'admin')", name="role"),
        Index("uq_accounts_handle", text("lower(handle)"), unique=True),
        Index("uq_accounts_email", text("lower(email)"), unique=True),
        Index("ix_accounts_name", text("lower(NORMALIZE(name, NFKC))")),
        Index("ix_accounts_admins", "id", postgresql_where=text("role = 'admin'")),
    )

    id: Mapped[int] = identity()
    handle: Mapped[str]
    name: Mapped[str]
    role: Mapped[str]
    email: Mapped[str | None]
    """The confirmed email address, shown only to its owner."""
    password_hash: Mapped[str | None]
    """argon2id in PHC format. None for an account that only has API tokens or an OpenID Connect identity."""
    created_at: Mapped[datetime]
    suspended_at: Mapped[datetime | None]
    """When the account was suspended. Nobody can sign in to it."""
    deleted_at: Mapped[datetime | None]
    """When its names were replaced by a pseudonym. Other rows only have its number."""

    competition_roles: Mapped[list[CompetitionRole]] = relationship(
        primaryjoin="CompetitionRole.account_id == Account.id", viewonly=True
    )
    """Every role offered to this person in a competition, including ended ones."""
    memberships: Mapped[list[Membership]] = relationship(
        primaryjoin="Membership.account_id == Account.id", viewonly=True
    )


class Authored:
    author_id: Mapped[int] = mapped_column(ForeignKey(Account.id))
    created_at: Mapped[datetime]


class WithAuthor(Authored):
    """A row that is read together with its author's account."""

    @declared_attr
    def author(self) -> Mapped[Account]:
        return relationship(Account, lazy="joined", innerjoin=True)


class Token(Table):
    """An API token. Only its SHA-256 is stored."""

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
    """The session of a signed-in browser. Only the SHA-256 of its cookie is stored."""

    __tablename__ = "web_sessions"
    __table_args__ = ({"info": EXPIRING},)

    id: Mapped[int] = identity()
    account_id: Mapped[int] = mapped_column(ForeignKey(Account.id), index=True)
    digest: Mapped[bytes] = mapped_column(LargeBinary, unique=True)
    address: Mapped[str]
    agent: Mapped[str]
    """The browser's User-Agent, which lets the owner recognise the session."""
    awaits_second_factor: Mapped[bool] = mapped_column(default=False, server_default=false())
    """Whether only the password has been checked, so that nobody is signed in yet."""
    challenge: Mapped[bytes | None] = mapped_column(LargeBinary)
    """The challenge that the browser's passkey must sign next."""
    totp_key: Mapped[str | None]
    """The newest key of one-time codes made for this session, until it is set up."""
    created_at: Mapped[datetime]
    last_seen_at: Mapped[datetime]
    expires_at: Mapped[datetime]
    ended_at: Mapped[datetime | None]

    account: Mapped[Account] = relationship(lazy="joined", innerjoin=True)


class SecondFactor(Table):
    __tablename__ = "second_factors"
    __table_args__ = (
        CheckConstraint("kind IN ('totp', 'passkey', 'recovery_code')", name="kind"),
        {"info": EXPIRING},
    )

    id: Mapped[int] = identity()
    account_id: Mapped[int] = mapped_column(ForeignKey(Account.id), index=True)
    kind: Mapped[str]
    name: Mapped[str]
    credential_id: Mapped[bytes | None] = mapped_column(LargeBinary)
    """The id by which the browser knows a passkey."""
    secret: Mapped[bytes] = mapped_column(LargeBinary)
    """The key of one-time codes in base32, the public key of a passkey, or the SHA-256 of a recovery code."""
    counter: Mapped[int] = mapped_column(BigInteger)
    """The time step of the last code, or the signature count of a passkey. Each value is accepted once."""
    created_at: Mapped[datetime]
    last_used_at: Mapped[datetime | None]
    ended_at: Mapped[datetime | None]


class KnownDevice(Table):
    """A browser in which an account has signed in before. Only the SHA-256 of its cookie is stored."""

    __tablename__ = "known_devices"
    __table_args__ = (UniqueConstraint("account_id", "digest"), {"info": EXPIRING})

    id: Mapped[int] = identity()
    account_id: Mapped[int] = mapped_column(ForeignKey(Account.id))
    digest: Mapped[bytes] = mapped_column(LargeBinary)
    created_at: Mapped[datetime]
    expires_at: Mapped[datetime]


class OneTimeLink(Table):
    """A link that works once and expires: for a password reset, the confirmation of an address, an invitation or a
    sign-in."""

    __tablename__ = "one_time_links"
    __table_args__ = (
        CheckConstraint("purpose IN ('reset', 'confirmation', 'invitation', 'sign-in')", name="purpose"),
        Index("ix_one_time_links_email", text("lower(email)")),
        {"info": EXPIRING},
    )

    id: Mapped[int] = identity()
    digest: Mapped[bytes] = mapped_column(LargeBinary, unique=True)
    purpose: Mapped[str]
    account_id: Mapped[int | None] = mapped_column(ForeignKey(Account.id), index=True)
    """The account that the link is for; None for an invitation."""
    email: Mapped[str | None]
    """The address that following the link confirms."""
    created_at: Mapped[datetime]
    expires_at: Mapped[datetime]
    used_at: Mapped[datetime | None]

    account: Mapped[Account | None] = relationship(lazy="joined")


class Identity(Table):
    """The subject at an OpenID Connect issuer that belongs to an account."""

    __tablename__ = "identities"
    __table_args__ = (UniqueConstraint("issuer", "subject"),)

    id: Mapped[int] = identity()
    account_id: Mapped[int] = mapped_column(ForeignKey(Account.id), index=True)
    issuer: Mapped[str]
    subject: Mapped[str]
    created_at: Mapped[datetime]

    account: Mapped[Account] = relationship(lazy="joined", innerjoin=True)
