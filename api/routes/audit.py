"""The audit log, for admins."""

from typing import Annotated

from fastapi import APIRouter, Query

from api.deps import Admin, DbSession
from api.people_schemas import AuditEntryView, AuditPage
from scorer import audit

router = APIRouter(tags=["audit"])


@router.get("/admin/audit")
def index(
    session: DbSession,
    admin: Admin,
    action: Annotated[str | None, Query(max_length=100, examples=["sign-in.failed"])] = None,
    subject: Annotated[str | None, Query(max_length=200, examples=["competition:dogs"])] = None,
    before: Annotated[int | None, Query(ge=1, le=2**62)] = None,
    limit: Annotated[int, Query(ge=1, le=500)] = 100,
) -> AuditPage:
    """Who did what and when, newest first, and what was before and after. Admins only."""
    found = audit.entries(session, action=action, subject=subject, before=before, limit=limit + 1)
    shown = [AuditEntryView.model_validate(each, from_attributes=True) for each in found[:limit]]
    return AuditPage(entries=shown, next_before=shown[-1].id if len(found) > limit else None)
