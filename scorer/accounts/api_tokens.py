"""API tokens: scoped and revocable secrets, shown once and stored as hashes."""

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import Literal

from sqlalchemy.orm import Session

from scorer import audit_log
from scorer.accounts.roles import require_active, reviews_any
from scorer.acting import Acting
from scorer.db import accounts
from scorer.db.tables import Account, Token
from scorer.errors import Conflict, Forbidden, Invalid, NotFound, Unauthenticated
from scorer.identifiers import hash_secret

Scope = Literal["read", "submit", "organize"]
SCOPES: tuple[Scope, ...] = ("read", "submit", "organize")
"""``read``: reading; ``submit``: uploads and final picks; ``organize``: actions of organizers, reviewers and admins."""
MAX_TOKENS = 50
"""Active tokens per account."""
TOUCH_AFTER = timedelta(minutes=1)
"""Resolution of ``last_used_at``: writing it on every request would turn every read into a write."""


def list_scopes(account: Account) -> Sequence[Scope]:
    """Return the scopes that an account's tokens may have; ``organize`` only for organizers, reviewers and admins."""
    return SCOPES if reviews_any(account) else SCOPES[:2]


def issue(
    session: Session,
    account: Account,
    secret: str,
    *,
    name: str,
    now: datetime,
    scopes: Collection[str] | None = None,
) -> Token:
    """Create the token ``secret`` (random, made by the caller); only its hash is stored. Default: all allowed scopes.

    ``Invalid`` for a scope that the account may not have, ``Conflict`` for too many tokens.
    """
    allowed = list_scopes(account)
    scopes = allowed if scopes is None else scopes
    if not scopes or not set(scopes) <= set(allowed):
        raise Invalid("bad-scope", f"Choose one or more of the scopes {', '.join(allowed)}.")
    accounts.lock_account(session, account.id)
    if len(accounts.load_tokens(session, account.id)) >= MAX_TOKENS:
        raise Conflict("too-many-tokens", f"You have {MAX_TOKENS} tokens, which is the limit. Revoke one first.")
    ordered_scopes = [scope for scope in SCOPES if scope in scopes]
    token = Token(account_id=account.id, digest=hash_secret(secret), name=name, scopes=ordered_scopes, created_at=now)
    session.add(token)
    session.flush()
    return token


def issue_own(acting: Acting, secret: str, *, name: str, scopes: Collection[str] | None) -> Token:
    """:func:`issue` a token to the acting account and record it in the audit log."""
    token = issue(acting.session, acting.actor, secret, name=name, now=acting.now, scopes=scopes)
    subject, after = f"account:{acting.actor.handle}", {"scopes": token.scopes}
    audit_log.record_action(acting, "token.made", subject, after=after)
    return token


def authenticate(session: Session, secret: str, now: datetime) -> Token:
    """Return the token with this secret; ``Unauthenticated`` if it is unknown or revoked."""
    token = accounts.token_by_digest(session, hash_secret(secret))
    if token is None:
        raise Unauthenticated(
            "bad-token", "This token is unknown or was revoked. Create a new one on the page /account."
        )
    require_active(token.account)
    if token.last_used_at is None or now - token.last_used_at > TOUCH_AFTER:
        token.last_used_at = now
    return token


def require_scope(scopes: Collection[str], scope: Scope) -> None:
    """``Forbidden`` unless ``scope`` is among the token's ``scopes``."""
    if scope not in scopes:
        raise Forbidden(
            "wrong-scope", f"Your token has the scopes {', '.join(scopes)}. Use a token with the scope {scope}."
        )


def revoke(acting: Acting, token_id: int) -> None:
    """Revoke one of the account's tokens immediately; ``NotFound`` if it has no such active token."""
    if not accounts.revoke_token(acting.session, acting.actor.id, token_id, now=acting.now):
        raise NotFound("no-token-here", "You have no such token.")
    audit_log.record_action(acting, "token.revoked", f"account:{acting.actor.handle}")
