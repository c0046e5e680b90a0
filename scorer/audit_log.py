"""The audit log: who, when, what, before, after. Rows are only ever added, by the same transaction as the act."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy.orm import Session

from scorer.db import audit_log
from scorer.db.audit_log import Act, AuditFilter
from scorer.db.tables import Account, AuditEntry, Competition


def record_action(
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


def list_entries(session: Session, wanted: AuditFilter, *, before: int | None, limit: int) -> list[Act]:
    """The entries that are ``wanted``, newest first, older than the one with id ``before``."""
    return audit_log.audit_entries(session, wanted, before=before, limit=limit)


def actions(session: Session, competition: Competition | None = None) -> Sequence[str]:
    """Every kind of act that was written down, or was about a competition."""
    return audit_log.audit_actions(session, competition)


@dataclass(frozen=True)
class FieldChange:
    """One thing that an act has changed; None where there was, or is, nothing."""

    name: str
    before: Any
    after: Any


def changes(entry: Act) -> list[FieldChange]:
    """What an entry of the log says to have changed, in the order in which it was written; what stayed is left out."""
    before, after = entry.before or {}, entry.after or {}
    names = dict.fromkeys([*before, *after])
    return [
        FieldChange(name, before.get(name), after.get(name)) for name in names if before.get(name) != after.get(name)
    ]
