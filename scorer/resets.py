"""Password resets: a link by mail, or from the operator, sets a new password and ends every session."""

from datetime import datetime

from sqlalchemy.orm import Session

from scorer import accounts, audit, links, mails
from scorer.db import accounts as db_accounts
from scorer.db.tables import Account

SUBJECT = "Your new password"
BODY = """Hello {name},

somebody, probably you, asked for a new password for your Kennel account {handle}. Set it here within an hour:

{link}

If it was not you, ignore this mail: nothing has changed.
"""


def ask(session: Session, email: str, *, secret: str, site: str, now: datetime) -> None:
    """Send a reset link to the account with this (confirmed) address. Nobody with that address: nothing happens, and
    whoever asked learns nothing."""
    account = db_accounts.account_by_email(session, accounts.require_email(email))
    if account is None or account.email is None:
        return
    link = link_for(session, account, secret=secret, site=site, now=now)
    body = BODY.format(name=account.name, handle=account.handle, link=link)
    mails.put(session, account.email, SUBJECT, body, now=now, expires_at=now + links.LIFE["reset"])


def link_for(session: Session, account: Account, *, secret: str, site: str, now: datetime) -> str:
    """A fresh reset link; ``site`` is the address of the service."""
    links.issue(session, "reset", secret, account=account, now=now)
    return f"{site}/reset/{secret}"


def complete(session: Session, secret: str, password_hash: str, *, now: datetime) -> Account:
    """Set the password of whoever was given this link and end all their sessions. ``NotFound`` for a link that does
    not work."""
    account = links.use(session, "reset", secret, now=now).account
    assert account is not None  # noqa: S101 - reset links are made for accounts only
    account.password_hash = password_hash
    db_accounts.end_sessions(session, account.id, now)
    audit.record(session, "password.reset", f"account:{account.handle}", actor=account, now=now)
    return account
