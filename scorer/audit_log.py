"""The audit log: who did what and when, with values before and after; written in the action's own transaction."""

from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy.orm import Session

from scorer.acting import Acting
from scorer.db import competition_roles
from scorer.db.audit_log import Act, AuditFilter
from scorer.db.tables import Account, AuditEntry


def record_action(
    acting: Acting[Account | None],
    action: str,
    subject: str,
    *,
    before: dict[str, Any] | None = None,
    after: dict[str, Any] | None = None,
    address: str | None = None,
) -> None:
    """Add an entry.

    ``action`` is ``noun.verb`` (``threshold.chosen``), ``subject`` is ``noun:name`` (``competition:dogs``).
    ``before`` and ``after`` are the changed values as JSON, never a secret.
    """
    acting.session.add(
        AuditEntry(
            created_at=acting.now,
            actor_id=acting.actor.id if acting.actor is not None else None,
            action=action,
            subject=subject,
            address=address,
            before=before,
            after=after,
        )
    )


def filter_for_admin(session: Session, wanted: AuditFilter, admin: Account) -> AuditFilter:
    """Hide actions on competitions that the admin competes in: they reveal how others are judged."""
    return replace(wanted, hidden=competition_roles.competitions_entered_by(session, admin.id))


@dataclass(frozen=True)
class FieldChange:
    """One value that an action changed; None if it was or is absent."""

    name: str
    before: Any
    after: Any


def changes(entry: Act) -> list[FieldChange]:
    before, after = entry.before or {}, entry.after or {}
    names = dict.fromkeys([*before, *after])
    return [
        FieldChange(name, before.get(name), after.get(name)) for name in names if before.get(name) != after.get(name)
    ]
