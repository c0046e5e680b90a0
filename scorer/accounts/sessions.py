"""Signed-in browsers: opening a session with a password, going on with it, ending it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy.orm import Session

from scorer import audit_log
from scorer.db import accounts
from scorer.db.tables import Account, WebSession
from scorer.errors import NotFound
from scorer.identifiers import digest_of

SESSION_LIFETIME = timedelta(days=30)
TOUCH_AFTER = timedelta(minutes=1)
"""How exact ``last_seen_at`` is."""
MAX_AGENT_LENGTH = 300


@dataclass(frozen=True)
class Browser:
    """Where a request comes from: its network address, and what the browser calls itself."""

    address: str
    agent: str = ""


def password_hash_of(session: Session, login: str) -> str | None:
    """The password hash of the account with this handle or address, if there is one."""
    account = accounts.account_by_login(session, login)
    return account.password_hash if account is not None else None


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
    """Open the session ``secret`` (random, made at the edge) for whoever gave the password behind the hash ``matched``.

    Passwords are compared before, with no transaction held. ``matched`` is None if the password was wrong; ``renewed``
    is its hash at today's costs, if those have changed. None, if nobody is known by this login or the password is not
    theirs (any more): which of them only the audit log tells, so the caller must commit in that case too.
    """
    account = accounts.account_by_login(session, login)
    if account is None or matched is None or account.password_hash != matched:
        # An unknown name is not written down: it may be a password in the wrong field.
        subject = f"account:{account.handle}" if account else "account"
        audit_log.record_action(session, "sign-in.failed", subject, actor=None, now=now, address=browser.address)
        return None
    account.password_hash = renewed or matched
    return begin(session, account, secret=secret, browser=browser, now=now)


def begin(session: Session, account: Account, *, secret: str, browser: Browser, now: datetime) -> WebSession:
    """Open the session ``secret`` for somebody who has shown who they are."""
    opened = WebSession(
        account_id=account.id,
        digest=digest_of(secret),
        address=browser.address,
        agent=browser.agent[:MAX_AGENT_LENGTH],
        created_at=now,
        last_seen_at=now,
        expires_at=now + SESSION_LIFETIME,
    )
    session.add(opened)
    session.flush()
    return opened


def resume(session: Session, secret: str, now: datetime) -> WebSession | None:
    """The living session behind ``secret``, if there is one."""
    found = accounts.session_by_digest(session, digest_of(secret), now)
    if found is not None and now - found.last_seen_at > TOUCH_AFTER:
        found.last_seen_at = now
    return found


def list_sessions(session: Session, account: Account, now: datetime) -> Sequence[WebSession]:
    """A person's living sessions, the one seen last first."""
    return accounts.sessions_of(session, account.id, now)


def end(session: Session, account: Account, session_id: int, *, now: datetime) -> None:
    """End one of the person's sessions at once; ``NotFound`` if it is not theirs or has ended already."""
    if not accounts.end_session(session, account.id, session_id, now):
        raise NotFound("no-session-here", "You have no such session.")
