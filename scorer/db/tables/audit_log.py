"""The audit log."""

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from scorer.db.tables.accounts import Account
from scorer.db.tables.base import APPEND_ONLY, Table, identity


class AuditEntry(Table):
    __tablename__ = "audit_entries"
    __table_args__ = ({"info": APPEND_ONLY},)

    id: Mapped[int] = identity()
    created_at: Mapped[datetime] = mapped_column(index=True)
    actor_id: Mapped[int | None] = mapped_column(ForeignKey(Account.id), index=True)
    """None if nobody was signed in, or the operator used the command line."""
    action: Mapped[str]
    """``noun.verb``, for example ``threshold.chosen``."""
    subject: Mapped[str] = mapped_column(index=True)
    """The thing it was done to, as ``noun:name``, for example ``account:ada``."""
    address: Mapped[str | None]
    """The network address that the request came from, if known."""
    before: Mapped[dict[str, Any] | None]
    after: Mapped[dict[str, Any] | None]
