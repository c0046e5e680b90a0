"""The audit log: all entries for admins, a competition's entries for its organizers."""

from dataclasses import replace
from typing import Annotated

from fastapi import Depends, Query
from sqlalchemy.orm import Session

from api.http.dependencies import ActingOrganizer, Admin, DbSession
from api.http.paging import After
from api.http.routing import ApiRouter
from api.http.views import Page
from scorer import audit_log
from scorer.competitions import competition_state
from scorer.db.audit_log import Act, AuditFilter, audit_entries


class AuditPage(Page):
    """Entries of the audit log, newest first."""

    entries: list[Act]


router = ApiRouter(tags=["audit"])
Action = Annotated[str | None, Query(max_length=100, examples=["sign-in.failed"])]
Subject = Annotated[str | None, Query(max_length=200, examples=["competition:dogs"])]
Actor = Annotated[str | None, Query(max_length=80, description="The handle of the person who acted.")]
Limit = Annotated[int, Query(ge=1, le=500)]


def audit_filters(action: Action = None, subject: Subject = None, actor: Actor = None) -> AuditFilter:
    """The filters of a request's query; empty filters match everything."""
    return AuditFilter(action or None, subject or None, actor or None)


Filters = Annotated[AuditFilter, Depends(audit_filters)]


@router.get("/admin/audit")
def index(session: DbSession, admin: Admin, filters: Filters, after: After = None, limit: Limit = 100) -> AuditPage:
    """List all entries of the audit log, newest first: who did what and when, with the values before and after. Admins
    only."""
    return _page(session, audit_log.filter_for_admin(session, filters, admin), after, limit=limit)


@router.get("/competitions/{slug}/audit")
def of_competition(
    slug: str, acting: ActingOrganizer, filters: Filters, after: After = None, limit: Limit = 100
) -> AuditPage:
    """List the audit log of a competition and its submissions, newest first. Organizers only."""
    competition = competition_state.load_state(acting.session, slug, acting.now).competition
    page = _page(acting.session, replace(filters, competition=competition), after, limit=limit)
    page.entries = [replace(act, address=None) for act in page.entries]  # only admins may see people's addresses
    return page


def _page(session: Session, filters: AuditFilter, after: int | None, *, limit: int) -> AuditPage:
    entries = audit_entries(session, filters, before=after, limit=limit + 1)
    page = entries[:limit]
    return AuditPage(entries=page, next_after=page[-1].id if len(entries) > limit else None)
