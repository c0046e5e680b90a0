"""API tokens: scoped, kept hashed, shown once, revocable."""

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import Literal

from sqlalchemy.orm import Session

from scorer.db import accounts
from scorer.db.tables import Account, Token
from scorer.errors import Conflict, Forbidden, Invalid, NotFound, Unauthenticated
from scorer.identifiers import digest_of

Scope = Literal["read", "submit", "organize"]
SCOPES: tuple[Scope, ...] = ("read", "submit", "organize")
"""Reading; uploading and picking; what organizers, reviewers and admins do."""
MAX_TOKENS = 50
"""Tokens that one person can have at a time."""
TOUCH_AFTER = timedelta(minutes=1)
"""How exact ``last_used_at`` is: a write on every request would make readers writers."""


def issue(
    session: Session,
    account: Account,
    secret: str,
    *,
    name: str,
    now: datetime,
    scopes: Collection[str] = SCOPES,
) -> Token:
    """Give ``account`` the token ``secret`` (random, made at the edge), of which only a hash is kept."""
    unknown = set(scopes) - set(SCOPES)
    if unknown or not scopes:
        raise Invalid("bad-scope", f"A token needs at least one scope of {', '.join(SCOPES)}, and no other.")
    if len(accounts.tokens_of(session, account.id)) >= MAX_TOKENS:
        raise Conflict("too-many-tokens", f"You have {MAX_TOKENS} tokens; please revoke one first.")
    kept = [scope for scope in SCOPES if scope in scopes]
    token = Token(account_id=account.id, digest=digest_of(secret), name=name, scopes=kept, created_at=now)
    session.add(token)
    session.flush()
    return token


def authenticate(session: Session, secret: str, now: datetime) -> Token:
    """The token behind ``secret``; ``Unauthenticated`` for an unknown or revoked one."""
    token = accounts.token_by_digest(session, digest_of(secret))
    if token is None:
        raise Unauthenticated("bad-token", "This token is not known here, or it was revoked.")
    if token.last_used_at is None or now - token.last_used_at > TOUCH_AFTER:
        token.last_used_at = now
    return token


def require_scope(scopes: Collection[str], scope: Scope) -> None:
    """``Forbidden`` unless ``scope`` is among those of the token that asks."""
    if scope not in scopes:
        raise Forbidden("wrong-scope", f"This needs a token with the scope {scope}; yours has {', '.join(scopes)}.")


def list_tokens(session: Session, account: Account) -> Sequence[Token]:
    """A person's tokens that work, newest first."""
    return accounts.tokens_of(session, account.id)


def revoke(session: Session, account: Account, token_id: int, *, now: datetime) -> None:
    """End one of the person's tokens at once; ``NotFound`` if it is not theirs or has ended already."""
    if not accounts.revoke_token(session, account.id, token_id, now):
        raise NotFound("no-token-here", "You have no such token.")
