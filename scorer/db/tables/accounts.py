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
    """A person's account."""

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
    """The confirmed mail address; shown to its owner alone."""
    password_hash: Mapped[str | None]
    """argon2id in PHC format; None for an account with API tokens or an OpenID Connect identity alone."""
    created_at: Mapped[datetime]
    suspended_at: Mapped[datetime | None]
    """Since when nobody may sign in as this person."""
    deleted_at: Mapped[datetime | None]
    """Since when its names are a pseudonym, and its number alone is left in other rows."""

    competition_roles: Mapped[list[CompetitionRole]] = relationship(
        primaryjoin="CompetitionRole.account_id == Account.id", viewonly=True
    )
    """Every role that was offered to this person in a competition, ended ones too."""
    memberships: Mapped[list[Membership]] = relationship(
        primaryjoin="Membership.account_id == Account.id", viewonly=True
    )


class Authored:
    """A row that says who has made it, and when."""

    author_id: Mapped[int] = mapped_column(ForeignKey(Account.id))
    created_at: Mapped[datetime]


class WithAuthor(Authored):
    """A row that is read together with the account that has made it."""

    @declared_attr
    def author(self) -> Mapped[Account]:
        """Who has made it."""
        return relationship(Account, lazy="joined", innerjoin=True)


class Token(Table):
    """An API token; only its SHA-256 is stored."""

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
    """The session of a signed-in browser; only the SHA-256 of its cookie is stored."""

    __tablename__ = "web_sessions"
    __table_args__ = ({"info": EXPIRING},)

    id: Mapped[int] = identity()
    account_id: Mapped[int] = mapped_column(ForeignKey(Account.id), index=True)
    digest: Mapped[bytes] = mapped_column(LargeBinary, unique=True)
    address: Mapped[str]
    agent: Mapped[str]
    """The browser's User-Agent, by which its owner recognises it."""
    awaits_second_factor: Mapped[bool] = mapped_column(default=False, server_default=false())
    """Whether only the password was given yet: nobody is signed in."""
    challenge: Mapped[bytes | None] = mapped_column(LargeBinary)
    """What the browser's passkey must sign next."""
    totp_key: Mapped[str | None]
    """The key of one-time codes that was made for this session last, until it is set up."""
    created_at: Mapped[datetime]
    last_seen_at: Mapped[datetime]
    expires_at: Mapped[datetime]
    ended_at: Mapped[datetime | None]

    account: Mapped[Account] = relationship(lazy="joined", innerjoin=True)


class SecondFactor(Table):
    """What an account is asked for beside its password."""

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
    """By which the browser knows a passkey."""
    secret: Mapped[bytes] = mapped_column(LargeBinary)
    """The key of one-time codes in base32, a passkey's public key, the SHA-256 of a recovery code."""
    counter: Mapped[int] = mapped_column(BigInteger)
    """The time step of the last code, or a passkey's count of signatures: none is accepted twice."""
    created_at: Mapped[datetime]
    last_used_at: Mapped[datetime | None]
    ended_at: Mapped[datetime | None]


class KnownDevice(Table):
    """A browser in which an account has signed in before; only the SHA-256 of its cookie is stored."""

    __tablename__ = "known_devices"
    __table_args__ = (UniqueConstraint("account_id", "digest"), {"info": EXPIRING})

    id: Mapped[int] = identity()
    account_id: Mapped[int] = mapped_column(ForeignKey(Account.id))
    digest: Mapped[bytes] = mapped_column(LargeBinary)
    created_at: Mapped[datetime]
    expires_at: Mapped[datetime]


class OneTimeLink(Table):
    """A link that works once and expires: a password reset, a confirmation of an address, an invitation, a sign-in."""

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
    """The account that it is for; None for an invitation."""
    email: Mapped[str | None]
    """The address that following the link confirms."""
    created_at: Mapped[datetime]
    expires_at: Mapped[datetime]
    used_at: Mapped[datetime | None]

    account: Mapped[Account | None] = relationship(lazy="joined")


class Identity(Table):
    """The subject of an OpenID Connect issuer that an account belongs to."""

    __tablename__ = "identities"
    __table_args__ = (UniqueConstraint("issuer", "subject"),)

    id: Mapped[int] = identity()
    account_id: Mapped[int] = mapped_column(ForeignKey(Account.id), index=True)
    issuer: Mapped[str]
    subject: Mapped[str]
    created_at: Mapped[datetime]

    account: Mapped[Account] = relationship(lazy="joined", innerjoin=True)
