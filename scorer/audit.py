"""The audit log: who, when, what, before, after. Rows are only ever added, by the same transaction as the act."""

from datetime import datetime
from typing import Any

from sqlalchemy.orm import Session

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
