"""Accounts: an admin makes them; everyone can see their own."""

import secrets

from fastapi import APIRouter

from api.deps import Admin, CurrentUser, DbSession, Now
from api.schemas import AccountView, NewAccount, NewAccountView
from scorer import accounts

router = APIRouter(tags=["accounts"])


@router.post("/accounts", status_code=201)
def create(body: NewAccount, session: DbSession, admin: Admin, now: Now) -> NewAccountView:
    """Make an account with a first API token. Admins only."""
    account = accounts.create_account(session, **body.model_dump(), now=now)
    secret = secrets.token_urlsafe(32)
    accounts.issue_token(session, account, secret, name=f"made by {admin.handle}", now=now)
    return NewAccountView(
        handle=account.handle,
        name=account.name,
        role=account.role,
        created_at=account.created_at,
        token=secret,
    )


@router.get("/me")
def me(account: CurrentUser) -> AccountView:
    """Who this token belongs to."""
    return AccountView.model_validate(account, from_attributes=True)
