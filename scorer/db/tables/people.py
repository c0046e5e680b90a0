"""Accounts, tokens, teams: who competes and who runs it."""

from datetime import datetime

from sqlalchemy import CheckConstraint, ForeignKey, Index, LargeBinary, text
from sqlalchemy.orm import Mapped, mapped_column, relationship

from scorer.db.tables.base import Table, identity


class Account(Table):
    """A person."""

    __tablename__ = "accounts"
    __table_args__ = (
        CheckConstraint("role IN ('participant', 'reviewer', 'organizer', 'admin')", name="role"),
        Index("uq_accounts_handle", text("lower(handle)"), unique=True),
    )

    id: Mapped[int] = identity()
    handle: Mapped[str]
    name: Mapped[str]
    role: Mapped[str]
    created_at: Mapped[datetime]


class Token(Table):
    """An API token; only its SHA-256 is kept."""

    __tablename__ = "tokens"

    id: Mapped[int] = identity()
    account_id: Mapped[int] = mapped_column(ForeignKey(Account.id), index=True)
    digest: Mapped[bytes] = mapped_column(LargeBinary, unique=True)
    name: Mapped[str]
    created_at: Mapped[datetime]
    last_used_at: Mapped[datetime | None]
    revoked_at: Mapped[datetime | None]

    account: Mapped[Account] = relationship(lazy="joined", innerjoin=True)
