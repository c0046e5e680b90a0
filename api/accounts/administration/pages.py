"""The admins' pages of accounts: the list, roles, suspensions, ending credentials."""

from typing import Annotated, Any

from fastapi import Query
from fastapi.responses import Response

from api.http.dependencies import ActingAdmin, SignedIn, Viewer
from api.http.forms import FormFields, refusal_on, text
from api.http.routing import Router
from api.rendering.templates import render_page, see_other
from scorer.accounts import accounts, administration
from scorer.accounts.roles import ROLES
from scorer.acting import Acting
from scorer.db.accounts import account_summaries

router = Router(prefix="/admin/accounts", include_in_schema=False)
PAGE_SIZE = 50
MAX_REASON_LENGTH = 1000
DONE_MESSAGES = {
    "role": "Role changed.",
    "suspended": "Account suspended. Its sessions, tokens and webhooks have ended.",
    "restored": "Suspension lifted. The account can sign in again.",
    "ended": "Sessions, tokens and webhooks ended.",
}
Search = Annotated[str, Query(max_length=100)]


@router.api_route("", methods=["GET", "HEAD"])
def list_accounts(
    acting: ActingAdmin,
    viewer: SignedIn,
    search: Search = "",
    after: Annotated[int, Query(ge=0, le=2**62)] = 0,
    done: str = "",
) -> Response:
    return _page(acting, viewer, search=search, after=after, done=DONE_MESSAGES.get(done))


def _page(acting: Acting, viewer: Viewer, *, search: str = "", after: int = 0, **outcome: Any) -> Response:
    found = account_summaries(acting.session, search, after=after, limit=PAGE_SIZE + 1, now=acting.now)
    return render_page(
        "accounts/administration/show.html",
        viewer=viewer,
        accounts=found[:PAGE_SIZE],
        next_after=found[PAGE_SIZE - 1].id if len(found) > PAGE_SIZE else None,
        search=search,
        after=after,
        roles=ROLES,
        now=acting.now,
        **outcome,
    )


@router.post("/{handle}/role")
def change_role(handle: str, fields: FormFields, acting: ActingAdmin, viewer: SignedIn) -> Response:
    with refusal_on(_page, acting, viewer, search=handle):
        accounts.change_role(acting, handle, text(fields, "role"))
    return see_other(f"/admin/accounts?search={handle}&done=role")


@router.post("/{handle}/suspension")
def suspend(handle: str, fields: FormFields, acting: ActingAdmin, viewer: SignedIn) -> Response:
    """Suspend an account, or lift the suspension with ``suspended=no``."""
    suspended = text(fields, "suspended") != "no"
    with refusal_on(_page, acting, viewer, search=handle):
        reason = text(fields, "reason", max_length=MAX_REASON_LENGTH).strip()
        administration.set_suspended(acting, handle, suspended=suspended, reason=reason)
    return see_other(f"/admin/accounts?search={handle}&done={'suspended' if suspended else 'restored'}")


@router.post("/{handle}/credentials/end")
def end_credentials(handle: str, fields: FormFields, acting: ActingAdmin, viewer: SignedIn) -> Response:
    with refusal_on(_page, acting, viewer, search=handle):
        administration.end_account_credentials(acting, handle)
    return see_other(f"/admin/accounts?search={handle}&done=ended")
