"""Sessions of signed-in browsers: opening one with a password, resuming it, ending it.

A separate cookie marks browsers in which an account has signed in before. Failed sign-ins from elsewhere do not count
against them, so no stranger can lock out an account's owner.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy.orm import Session

from scorer import audit_log
from scorer.accounts import second_factors
from scorer.accounts.roles import require_active
from scorer.acting import Acting
from scorer.db import accounts
from scorer.db.tables import Account, WebSession
from scorer.errors import NotFound, Unauthenticated
from scorer.identifiers import hash_secret

SESSION_LIFETIME = timedelta(days=30)
"""Counted from the sign-in."""
SESSION_IDLE = timedelta(days=7)
"""A session without requests ends after this time."""
SECOND_STEP_LIFETIME = timedelta(minutes=10)
"""The longest wait of a session for the second factor."""
TOUCH_AFTER = timedelta(minutes=1)
"""Resolution of ``last_seen_at``."""
MAX_AGENT_LENGTH = 300


@dataclass(frozen=True)
class Browser:
    """The origin of a request: network address, User-Agent and cookie."""

    address: str
    agent: str = ""
    device: str | None = None
    """The secret of the cookie of a known browser."""


@dataclass(frozen=True)
class Attempt:
    """An attempt to sign in: the account (None if unknown), its password hash (None if it has none), and whether the
    account knows the browser."""

    account_id: int | None
    password_hash: str | None
    known_device: bool


def load_attempt(session: Session, login: str, browser: Browser, *, now: datetime) -> Attempt:
    """Look up the account of an attempt to sign in with a handle or email address."""
    account = accounts.account_by_login(session, login)
    if account is None:
        return Attempt(None, None, known_device=False)
    return Attempt(
        account.id, account.password_hash, known_device=is_known_device(session, account, browser.device, now=now)
    )


def sign_in(
    session: Session,
    login: str,
    matched: str | None,
    *,
    renewed: str | None = None,
    secret: str,
    browser: Browser,
    now: datetime,
) -> WebSession | None:
    """Open the session ``secret`` (random, made by the caller) if ``matched`` is still the account's password hash.

    The caller checks the password first, outside a transaction. ``matched`` is the hash that it matched, None if it was
    wrong. ``renewed`` is a hash with current cost parameters, if those have changed.

    Returns None for an unknown login and for a wrong or just changed password. Only the audit log records which, so the
    caller must also commit in this case.
    """
    account = accounts.account_by_login(session, login)
    if account is not None and matched is not None:
        # A simultaneous change of password or suspension comes before this session, or ends it.
        accounts.lock_account(session, account.id)
        session.refresh(account)
    if account is None or matched is None or account.password_hash != matched:
        # An unknown login is not recorded: it may be a password in the wrong field.
        subject = f"account:{account.handle}" if account else "account"
        audit_log.record_action(Acting(session, None, now), "sign-in.failed", subject, address=browser.address)
        return None
    account.password_hash = renewed or matched
    return begin(session, account, secret=secret, browser=browser, now=now)


def begin(session: Session, account: Account, *, secret: str, browser: Browser, now: datetime) -> WebSession:
    """Open the session ``secret`` for an authenticated account; it waits for the second factor if there is one.

    ``Forbidden`` if the account is suspended.
    """
    require_active(account)
    awaits = second_factors.is_set_up(session, account)
    web_session = WebSession(
        account_id=account.id,
        digest=hash_secret(secret),
        address=browser.address,
        agent=browser.agent[:MAX_AGENT_LENGTH],
        created_at=now,
        last_seen_at=now,
        expires_at=now + (SECOND_STEP_LIFETIME if awaits else SESSION_IDLE),
        awaits_second_factor=awaits,
    )
    session.add(web_session)
    session.flush()
    return web_session


def waiting(session: Session, secret: str, now: datetime) -> WebSession:
    """Return the session with this secret that waits for a second factor; ``Unauthenticated`` if there is none."""
    web_session = accounts.waiting_session(session, hash_secret(secret), now)
    if web_session is None:
        raise Unauthenticated("no-sign-in", "Please sign in with your password first.")
    require_active(web_session.account)
    return web_session


def complete(web_session: WebSession, *, secret: str, now: datetime) -> None:
    """Open a session that has waited for the second factor. A new ``secret`` makes the first one useless."""
    web_session.awaits_second_factor = False
    web_session.digest = hash_secret(secret)
    web_session.last_seen_at = now
    web_session.expires_at = now + SESSION_IDLE


def resume(session: Session, secret: str, now: datetime) -> WebSession | None:
    """Return the active session with this secret; None if there is none or its account is suspended."""
    web_session = accounts.session_by_digest(session, hash_secret(secret), now)
    if web_session is not None and web_session.account.suspended_at is not None:
        return None
    if web_session is not None and now - web_session.last_seen_at > TOUCH_AFTER:
        web_session.last_seen_at = now
        web_session.expires_at = min(web_session.created_at + SESSION_LIFETIME, now + SESSION_IDLE)
    return web_session


def hold(session: Session, session_id: int | None, now: datetime) -> None:
    """Keep an active session open until this transaction ends; ``Unauthenticated`` if it has ended.

    Ending the session then also ends a credential that this transaction creates.
    """
    if not accounts.hold_session(session, session_id, now):
        raise Unauthenticated("no-session", "Please sign in first.")


def end(acting: Acting, session_id: int) -> None:
    """End one of the account's sessions immediately; ``NotFound`` if it has no such active session."""
    if not accounts.end_session(acting.session, acting.actor.id, session_id, now=acting.now):
        raise NotFound("no-session-here", "You have no such session.")


DEVICE_LIFETIME = timedelta(days=365)
"""Counted from the last sign-in there."""


def is_known_device(session: Session, account: Account, secret: str | None, *, now: datetime) -> bool:
    """Whether the browser with this cookie is one of the account's."""
    return secret is not None and accounts.is_known_device(session, account.id, hash_secret(secret), now=now)


def remember_device(session: Session, account: Account, secret: str, *, now: datetime) -> None:
    """Make the browser with this cookie one of the account's for ``DEVICE_LIFETIME``."""
    accounts.remember_device(session, account.id, hash_secret(secret), now=now, expires_at=now + DEVICE_LIFETIME)
