"""The audit log: all of it for admins, a competition's part for its organizers."""

from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Depends, Query
from sqlalchemy.orm import Session

from api.http.dependencies import Admin, DbSession, Now, Organizer
from api.schemas.audit_log import AuditEntryView, AuditPage
from scorer import audit_log
from scorer.competitions import competition_state
from scorer.db.audit_log import AuditFilter

router = APIRouter(tags=["audit"])
Action = Annotated[str | None, Query(max_length=100, examples=["sign-in.failed"])]
Subject = Annotated[str | None, Query(max_length=200, examples=["competition:dogs"])]
Actor = Annotated[str | None, Query(max_length=80, description="A handle.")]
BeforeId = Annotated[int | None, Query(ge=1, le=2**62)]
Limit = Annotated[int, Query(ge=1, le=500)]


def audit_filters(action: Action = None, subject: Subject = None, actor: Actor = None) -> AuditFilter:
    """Which entries are asked for."""
    return AuditFilter(action, subject, actor)


Filters = Annotated[AuditFilter, Depends(audit_filters)]


@router.get("/admin/audit")
def index(
    session: DbSession,
    admin: Admin,
    filters: Filters,
    before: BeforeId = None,
    limit: Limit = 100,
) -> AuditPage:
    """Who did what and when, newest first, and what was before and after. Admins only."""
    return _page(session, filters, before, limit)


@router.get("/competitions/{slug}/audit")
def of_competition(
    slug: str,
    session: DbSession,
    author: Organizer,
    now: Now,
    filters: Filters,
    before: BeforeId = None,
    limit: Limit = 100,
) -> AuditPage:
    """What was done to a competition, its parts and its entries, newest first. Organizers only."""
    competition = competition_state.state_of(session, slug, now).competition
    found = _page(session, replace(filters, competition=competition), before, limit)
    for entry in found.entries:
        entry.address = None  # where people sit is for admins
    return found


def _page(session: Session, wanted: AuditFilter, before: int | None, limit: int) -> AuditPage:
    found = audit_log.list_entries(session, wanted, before=before, limit=limit + 1)
    shown = [AuditEntryView.model_validate(each, from_attributes=True) for each in found[:limit]]
    return AuditPage(entries=shown, next_before=shown[-1].id if len(found) > limit else None)
