"""Others' accounts, for admins: who is there, their roles, suspending them, ending their credentials."""

from collections.abc import Callable
from typing import Annotated, Any

from fastapi import Query
from fastapi.responses import Response

from api.http.dependencies import ActingAdmin, Caller, DbSession, Now, SignedIn
from api.http.forms import FormFields, refusal_on, text
from api.http.routing import Router
from api.rendering.templates import render_page, see_other
from scorer.accounts import accounts, administration
from scorer.accounts.roles import ROLES
from scorer.db.accounts import account_summaries

router = Router(prefix="/admin/accounts", include_in_schema=False)
PAGE_SIZE = 50
MAX_REASON_LENGTH = 1000
DONE_MESSAGES = {
    "role": "The role is changed.",
    "suspended": "The account is suspended; its sessions, tokens and webhooks have ended.",
    "restored": "The account may sign in again.",
    "ended": "All sessions, tokens and webhooks of the account have ended.",
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
    """The accounts, oldest first."""
    return _page(acting.session, viewer, acting.now, search=search, after=after, done=DONE_MESSAGES.get(done))


def _page(
    session: DbSession, viewer: Caller, now: Now, *, status: int = 200, search: str = "", after: int = 0, **outcome: Any
) -> Response:
    found = account_summaries(session, search, after=after, limit=PAGE_SIZE + 1, now=now)
    return render_page(
        "accounts/administration/show.html",
        status=status,
        viewer=viewer,
        accounts=found[:PAGE_SIZE],
        next_after=found[PAGE_SIZE - 1].id if len(found) > PAGE_SIZE else None,
        search=search,
        after=after,
        roles=ROLES,
        now=now,
        **outcome,
    )


def _changed(
    session: DbSession, viewer: Caller, now: Now, *, handle: str, change: Callable[[], object], done: str
) -> Response:
    """The page after a change, or with the reason why it was refused."""
    with refusal_on(_page, session, viewer, now, search=handle):
        change()
    return see_other(f"/admin/accounts?search={handle}&done={done}")


@router.post("/{handle}/role")
def change_role(handle: str, fields: FormFields, acting: ActingAdmin, viewer: SignedIn) -> Response:
    """Give an account another role."""
    role = text(fields, "role")
    return _changed(
        acting.session,
        viewer,
        acting.now,
        handle=handle,
        change=lambda: accounts.change_role(acting, handle, role),
        done="role",
    )


@router.post("/{handle}/suspension")
def suspend(handle: str, fields: FormFields, acting: ActingAdmin, viewer: SignedIn) -> Response:
    """Suspend an account, or, with ``suspended=no``, let it sign in again."""
    suspended = text(fields, "suspended") != "no"
    reason = text(fields, "reason", max_length=MAX_REASON_LENGTH).strip()

    def change() -> None:
        administration.set_suspended(acting, handle, suspended=suspended, reason=reason)

    return _changed(
        acting.session, viewer, acting.now, handle=handle, change=change, done="suspended" if suspended else "restored"
    )


@router.post("/{handle}/credentials/end")
def end_credentials(handle: str, fields: FormFields, acting: ActingAdmin, viewer: SignedIn) -> Response:
    """End all sessions, tokens and webhooks of an account."""
    return _changed(
        acting.session, viewer, acting.now, handle=handle,
        change=lambda: administration.end_credentials_of(acting, handle), done="ended",
    )  # fmt: skip
