"""The people of a test's service: an admin, an organizer, and the participants ada, bob and eve, each with a token."""

from datetime import UTC, datetime, timedelta

from pydantic import SecretStr
from sqlalchemy import select
from sqlalchemy.orm import Session

from scorer.accounts import accounts, api_tokens
from scorer.db.tables import Account

ROLES = {
    "admin": "admin",
    "organizer": "organizer",
    "ada": "participant",
    "bob": "participant",
    "eve": "participant",
}
DRAW_KEY = SecretStr("a long random text")
TOKENS = {handle: f"secret-of-{handle}" for handle in ROLES}


def create_people(session: Session) -> None:
    """Create the people's accounts and tokens, dated one day ago, unless they exist."""
    if session.scalars(select(Account.id).where(Account.handle == "admin")).first() is not None:
        return
    now = datetime.now(UTC) - timedelta(days=1)
    for handle, role in ROLES.items():
        account = accounts.create_account(session, handle=handle, name=handle.title(), role=role, now=now)
        api_tokens.issue(session, account, TOKENS[handle], name="test", now=now)
