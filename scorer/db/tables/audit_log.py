"""What was done, and what has to be told: the audit log and the outbox of mails."""

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from scorer.db.tables.accounts import Account
from scorer.db.tables.base import APPEND_ONLY, Table, identity


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
