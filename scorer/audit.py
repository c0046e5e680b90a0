"""The audit log: who, when, what, before, after. Rows are only ever added, by the same transaction as the act."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy.orm import Session

from scorer.db import records
from scorer.db.tables import Account, AuditEntry


def record(
    session: Session,
    action: str,
    subject: str,
    *,
    actor: Account | None,
    now: datetime,
    before: dict[str, Any] | None = None,
    after: dict[str, Any] | None = None,
    address: str | None = None,
) -> None:
    """Write an act down. ``action`` is ``noun.verb`` (``threshold.chosen``), ``subject`` is ``noun:name``
    (``competition:dogs``); ``before`` and ``after`` hold what changed as JSON values, never a secret.
    """
    session.add(
        AuditEntry(
            created_at=now,
            actor_id=actor.id if actor is not None else None,
            action=action,
            subject=subject,
            address=address,
            before=before,
            after=after,
        )
    )


def entries(
    session: Session, *, action: str | None, subject: str | None, before: int | None, limit: int
) -> Sequence[Any]:
    """Entries, newest first, older than the one with id ``before``; of one action or subject, if given. Each has its
    columns and the ``actor``'s handle (None: nobody was signed in, or the operator at the machine)."""
    return records.audit_entries(session, action=action, subject=subject, before=before, limit=limit)
