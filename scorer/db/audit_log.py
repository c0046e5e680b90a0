"""SQL for reading the audit log."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pydantic import ConfigDict
from sqlalchemy import ColumnElement, func, literal, not_, or_, select
from sqlalchemy.orm import Session

from scorer.db.tables import Account, AuditEntry, Competition, Submission


@dataclass(frozen=True)
class AuditFilter:
    """A filter of the audit log. Entries must match every value that is not None."""

    action: str | None = None
    subject: str | None = None
    actor: str | None = None
    """A handle, ignoring case."""
    competition: Competition | None = None
    """Actions on the competition, on its parts (``noun:slug/part``) and on its submissions."""
    hidden: Sequence[Competition] = ()
    """Exclude actions on these competitions."""


@dataclass(frozen=True)
class Act:
    """An action in the audit log."""

    __pydantic_config__ = ConfigDict(use_attribute_docstrings=True)

    id: int
    created_at: datetime
    actor: str | None
    """Null if nobody was signed in, or the operator used the command line."""
    action: str
    subject: str
    address: str | None
    before: dict[str, Any] | None
    after: dict[str, Any] | None


def audit_entries(session: Session, wanted: AuditFilter, *, before: int | None, limit: int) -> list[Act]:
    """Matching entries older than the id ``before``, newest first."""
    query = (
        select(AuditEntry.id, AuditEntry.created_at, Account.handle, AuditEntry.action, AuditEntry.subject)
        .add_columns(AuditEntry.address, AuditEntry.before, AuditEntry.after)
        .outerjoin(Account, Account.id == AuditEntry.actor_id)
        .where(*_conditions(wanted))
    )
    if before is not None:
        query = query.where(AuditEntry.id < before)
    return [Act(*row) for row in session.execute(query.order_by(AuditEntry.id.desc()).limit(limit))]


def first_value_before(session: Session, action: str, subject: str, *, name: str, after: datetime) -> Any:
    """The value ``name`` before the first act on a subject after ``after`` that changed it; None if there is no such
    act."""
    value = AuditEntry.before[name]
    query = (
        select(value)
        .where(AuditEntry.subject == subject, AuditEntry.action == action)
        .where(AuditEntry.created_at > after, value.is_not(None))
        .order_by(AuditEntry.id)
        .limit(1)
    )
    return session.scalar(query)


def audit_actions(session: Session, competition: Competition | None) -> Sequence[str]:
    """Every action that occurs in the log, or in a competition's part of it."""
    about = _conditions(AuditFilter(competition=competition))
    return session.scalars(select(AuditEntry.action).where(*about).distinct().order_by(AuditEntry.action)).all()


def _conditions(wanted: AuditFilter) -> list[ColumnElement[bool]]:
    conditions: list[ColumnElement[bool]] = []
    if wanted.action is not None:
        conditions.append(AuditEntry.action == wanted.action)
    if wanted.subject is not None:
        conditions.append(AuditEntry.subject == wanted.subject)
    if wanted.actor is not None:
        conditions.append(func.lower(Account.handle) == wanted.actor.lower())
    if wanted.competition is not None:
        conditions.append(_about(wanted.competition))
    conditions.extend(not_(_about(competition)) for competition in wanted.hidden)
    return conditions


def _about(competition: Competition) -> ColumnElement[bool]:
    entries = select(literal("submission:") + Submission.id).where(Submission.competition_id == competition.id)
    return or_(
        AuditEntry.subject == f"competition:{competition.slug}",
        AuditEntry.subject.like(f"%:{competition.slug}/%"),  # slugs contain no LIKE wildcards
        AuditEntry.subject.in_(entries),
    )
