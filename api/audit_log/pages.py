"""The audit log as a page: all entries for admins, a competition's entries for its organizers."""

import json
from dataclasses import replace
from typing import Annotated, Any

from fastapi import Query
from fastapi.responses import Response
from sqlalchemy.orm import Session

from api.audit_log.routes import Filters
from api.http.dependencies import ActingAdmin, ActingOrganizer, SignedIn, Viewer
from api.http.routing import Router
from api.rendering.templates import render_page
from scorer import audit_log
from scorer.competitions import competition_state
from scorer.db.audit_log import AuditFilter, audit_actions, audit_entries

router = Router(include_in_schema=False)
PAGE_SIZE = 50
BeforeId = Annotated[int | None, Query(ge=1, le=2**62)]


@router.api_route("/admin/audit", methods=["GET", "HEAD"])
def show_audit_log(acting: ActingAdmin, viewer: SignedIn, filters: Filters, before: BeforeId = None) -> Response:
    wanted = audit_log.filter_for_admin(acting.session, filters, acting.actor)
    return _page(acting.session, viewer, wanted, before=before, now=acting.now, state=None, here="/admin/audit")


@router.api_route("/competitions/{slug}/audit", methods=["GET", "HEAD"])
def show_competition_audit_log(
    slug: str, acting: ActingOrganizer, viewer: SignedIn, filters: Filters, before: BeforeId = None
) -> Response:
    state = competition_state.load_state(acting.session, slug, acting.now)
    wanted = replace(filters, competition=state.competition)
    return _page(
        acting.session, viewer, wanted, before=before, now=acting.now, state=state, here=f"/competitions/{slug}/audit"
    )


def _page(session: Session, viewer: Viewer, wanted: AuditFilter, *, before: int | None, **values: Any) -> Response:
    newest = audit_entries(session, wanted, before=before, limit=PAGE_SIZE + 1)
    page = newest[:PAGE_SIZE]
    return render_page(
        "audit_log/show.html",
        viewer=viewer,
        entries=[(entry, [_change_texts(change) for change in audit_log.changes(entry)]) for entry in page],
        actions=audit_actions(session, wanted.competition),
        wanted=wanted,
        older=page[-1].id if len(newest) > PAGE_SIZE else None,
        before=before,
        **values,
    )


def _change_texts(change: audit_log.FieldChange) -> tuple[str, str | None, str | None]:
    return change.name, _text(change.before), _text(change.after)


def _text(value: Any) -> str | None:
    """Strings stay unchanged; other values become JSON."""
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, indent=1 if isinstance(value, dict | list) else None)
