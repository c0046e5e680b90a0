"""The admins' routes of accounts: listing and suspending them, ending their credentials."""

from typing import Annotated

from fastapi import Query

from api.accounts.views import AccountPage, AccountView, SuspensionWish
from api.http.dependencies import ActingAdmin
from api.http.routing import ApiRouter
from scorer.accounts import administration
from scorer.db import accounts

router = ApiRouter(prefix="/admin/accounts", tags=["accounts"])


@router.get("")
def list_accounts(
    acting: ActingAdmin,
    search: Annotated[str, Query(max_length=100, description="Part of the handle or name.")] = "",
    after: Annotated[int, Query(ge=0, le=2**62)] = 0,
    limit: Annotated[int, Query(ge=1, le=500)] = 100,
) -> AccountPage:
    """List all accounts, oldest first, with the number of sessions, tokens and webhooks of each. Admins only."""
    found = accounts.account_summaries(acting.session, search, after=after, limit=limit + 1, now=acting.now)
    return AccountPage(accounts=found[:limit], next_after=found[limit - 1].id if len(found) > limit else None)


@router.put("/{handle}/suspension")
def suspend(handle: str, body: SuspensionWish, acting: ActingAdmin) -> AccountView:
    """Suspend an account, which also ends its sessions, tokens and webhooks, or lift a suspension. Admins only."""
    changed = administration.set_suspended(acting, handle, suspended=body.suspended, reason=body.reason)
    return AccountView.model_validate(changed)


@router.delete("/{handle}/credentials", status_code=204)
def end_credentials(handle: str, acting: ActingAdmin) -> None:
    """End all sessions, tokens and webhooks of an account. Its owner can sign in again. Admins only."""
    administration.end_account_credentials(acting, handle)
