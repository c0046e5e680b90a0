"""People and their tokens."""

import hashlib
import re
from datetime import datetime, timedelta

from sqlalchemy.orm import Session

from scorer.db import lookups
from scorer.db.tables import Account, Token
from scorer.errors import Conflict, Forbidden, Invalid, Unauthenticated

ROLES = ("participant", "reviewer", "organizer", "admin")
HANDLE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{1,38}")
TOUCH = timedelta(minutes=1)
"""How exact a token's ``last_used_at`` is: a write on every request would make readers writers."""


def create_account(session: Session, *, handle: str, name: str, role: str, now: datetime) -> Account:
    """Make an account; ``Conflict`` if the handle is taken (letter case does not count)."""
    if not HANDLE.fullmatch(handle):
        raise Invalid(
            "bad-handle",
            f"The handle {handle!r} needs 2 to 39 letters, digits, dots, dashes or underscores, and no sign first.",
        )
    if role not in ROLES:
        raise Invalid("bad-role", f"There is no role {role!r}; roles are {', '.join(ROLES)}.")
    if lookups.account_by_handle(session, handle) is not None:
        raise Conflict("handle-taken", f"The handle {handle!r} is taken.")
    account = Account(handle=handle, name=name or handle, role=role, created_at=now)
    session.add(account)
    session.flush()
    return account


def issue_token(session: Session, account: Account, secret: str, *, name: str, now: datetime) -> Token:
    """Give ``account`` the token ``secret`` (from ``secrets.token_urlsafe``, made at the edge); it is kept hashed."""
    token = Token(account_id=account.id, digest=_digest(secret), name=name, created_at=now)
    session.add(token)
    session.flush()
    return token


def authenticate(session: Session, secret: str, now: datetime) -> Account:
    """Whose token this is; ``Unauthenticated`` for an unknown or revoked one."""
    token = lookups.token_by_digest(session, _digest(secret))
    if token is None:
        raise Unauthenticated("bad-token", "This token is not known here, or it was revoked.")
    if token.last_used_at is None or now - token.last_used_at > TOUCH:
        token.last_used_at = now
    return token.account


def require(account: Account, *roles: str) -> Account:
    """Let only accounts with one of ``roles`` (or admins) go on."""
    if account.role not in (*roles, "admin"):
        raise Forbidden("wrong-role", f"This needs the role {' or '.join(roles)}; yours is {account.role}.")
    return account


def _digest(secret: str) -> bytes:
    # Tokens are 256 random bits, so a plain hash is enough: there is nothing to guess.
    return hashlib.sha256(secret.encode()).digest()
