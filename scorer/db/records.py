"""Reading the audit log."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Row, Select, select
from sqlalchemy.orm import Session

from scorer.db.tables import Account, AuditEntry


def audit_entries(
    session: Session, *, action: str | None, subject: str | None, before: int | None, limit: int
) -> Sequence[Row[Any]]:
    """Entries older than the one with id ``before``, newest first, each with its actor's handle (``actor``)."""
    query: Select[Any] = select(*AuditEntry.__table__.columns, Account.handle.label("actor")).outerjoin(
        Account, Account.id == AuditEntry.actor_id
    )
    for column, wanted in ((AuditEntry.action, action), (AuditEntry.subject, subject)):
        if wanted is not None:
            query = query.where(column == wanted)
    if before is not None:
        query = query.where(AuditEntry.id < before)
    return session.execute(query.order_by(AuditEntry.id.desc()).limit(limit)).all()
