"""Sessions of signed-in browsers: opening one with a password, resuming it, ending it.

Browsers in which an account has signed in before are known by a cookie of their own. Failures to sign in from elsewhere
do not count against them, so no stranger can keep an account's owner out.
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
from scorer.identifiers import digest_of

SESSION_LIFETIME = timedelta(days=30)
"""Since the sign-in."""
SESSION_IDLE = timedelta(days=7)
"""Without a request a session ends earlier."""
SECOND_STEP_LIFETIME = timedelta(minutes=10)
"""How long a session waits for the second factor."""
TOUCH_AFTER = timedelta(minutes=1)
"""Resolution of ``last_seen_at``."""
MAX_AGENT_LENGTH = 300


@dataclass(frozen=True)
class Browser:
    """The origin of a request: its network address and the browser's User-Agent."""

    address: str
    agent: str = ""
    device: str | None = None
    """The secret of the cookie that a browser keeps in which somebody has signed in before."""


@dataclass(frozen=True)
class Attempt:
    """What an attempt to sign in is about: the account (None: there is none), its password's hash (None: it has none),
    and whether it has signed in from that browser before."""

    account_id: int | None
    password_hash: str | None
    known_device: bool


def attempt_of(session: Session, login: str, browser: Browser, *, now: datetime) -> Attempt:
    """The attempt to sign in with this handle or mail address from a browser."""
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

    The caller compares the password before, with no transaction held: ``matched`` is the hash that it matched, None if
    it was wrong; ``renewed`` is its hash at today's cost parameters, if those have changed. Returns None for an unknown
    login and for a wrong (or just changed) password alike. Only the audit log records which, so the caller must commit
    in that case too.
    """
    account = accounts.account_by_login(session, login)
    if account is not None and matched is not None:
        accounts.lock_account(session, account.id)  # a new password, or a suspension, is before this session or ends it
        session.refresh(account)
    if account is None or matched is None or account.password_hash != matched:
        # An unknown login is not recorded: it may be a password typed into the wrong field.
        subject = f"account:{account.handle}" if account else "account"
        audit_log.record_action(Acting(session, None, now), "sign-in.failed", subject, address=browser.address)
        return None
    account.password_hash = renewed or matched
    return begin(session, account, secret=secret, browser=browser, now=now)


def begin(session: Session, account: Account, *, secret: str, browser: Browser, now: datetime) -> WebSession:
    """Open the session ``secret`` for an authenticated account; it waits for the second factor if there is one.
    ``Forbidden`` for an account that is suspended."""
    require_active(account)
    awaits = second_factors.is_set_up(session, account)
    web_session = WebSession(
        account_id=account.id,
        digest=digest_of(secret),
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
    """The session with this secret that waits for the second factor; ``Unauthenticated`` if there is none."""
    web_session = accounts.waiting_session(session, digest_of(secret), now)
    if web_session is None:
        raise Unauthenticated("no-sign-in", "Please sign in with your password first.")
    require_active(web_session.account)
    return web_session


def complete(web_session: WebSession, *, secret: str, now: datetime) -> None:
    """Open a session that has waited for the second factor. It gets another ``secret`` (random, made by the caller), so
    that whoever knew the first one has nothing."""
    web_session.awaits_second_factor = False
    web_session.digest = digest_of(secret)
    web_session.last_seen_at = now
    web_session.expires_at = now + SESSION_IDLE


def resume(session: Session, secret: str, now: datetime) -> WebSession | None:
    """The active session with this secret; None if there is none, or its account is suspended."""
    web_session = accounts.session_by_digest(session, digest_of(secret), now)
    if web_session is not None and web_session.account.suspended_at is not None:
        return None
    if web_session is not None and now - web_session.last_seen_at > TOUCH_AFTER:
        web_session.last_seen_at = now
        web_session.expires_at = min(web_session.created_at + SESSION_LIFETIME, now + SESSION_IDLE)
    return web_session


def hold(session: Session, session_id: int | None, now: datetime) -> None:
    """Keep an active session open until this transaction ends, for the credential that is made in it: whoever ends the
    session ends the credential, too. ``Unauthenticated`` if the session has ended."""
    if not accounts.hold_session(session, session_id, now):
        raise Unauthenticated("no-session", "Please sign in first.")


def end(acting: Acting, session_id: int) -> None:
    """End one of the account's sessions at once; ``NotFound`` if it has no such active session."""
    if not accounts.end_session(acting.session, acting.actor.id, session_id, now=acting.now):
        raise NotFound("no-session-here", "You have no such session.")


DEVICE_LIFETIME = timedelta(days=365)
"""Since the last sign-in there."""


def is_known_device(session: Session, account: Account, secret: str | None, *, now: datetime) -> bool:
    """Whether the browser with this cookie is one of the account's."""
    return secret is not None and accounts.is_known_device(session, account.id, digest_of(secret), now=now)


def remember_device(session: Session, account: Account, secret: str, *, now: datetime) -> None:
    """Make the browser with this cookie one of the account's, from now on for the whole lifetime."""
    accounts.remember_device(session, account.id, digest_of(secret), now=now, expires_at=now + DEVICE_LIFETIME)
