"""Accounts of the demo, created in the database because API tokens cannot create accounts."""

import secrets
from datetime import UTC, datetime

from scorer.accounts import accounts, api_tokens
from scorer.db.accounts import account_by_handle
from scorer.db.session import connected
from scorer.settings import Settings

ORGANIZER = "demo-organizer"
REVIEWERS = ("Rita Retriever", "Paul Pointer")


def handle_in(slug: str, name: str) -> str:
    return f"{name}-{slug}"[:39].strip("-.")


def reviewer_handle(slug: str, number: int) -> str:
    """The handle of a reviewer; numbers start at 1."""
    return handle_in(slug, f"reviewer-{number}")


def new_token(settings: Settings, handle: str, role: str, *, name: str = "") -> str:
    """A new token of the account with this handle, which is created if it does not exist."""
    secret = secrets.token_urlsafe(32)
    now = datetime.now(UTC)
    with connected(settings) as sessions, sessions.begin() as session:
        account = account_by_handle(session, handle)
        if account is None:
            account = accounts.create_account(session, handle=handle, name=name, role=role, now=now)
        api_tokens.issue(session, account, secret, name="demo", now=now)
    return secret
