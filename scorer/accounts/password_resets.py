"""Password resets: a one-time link sets a new password and ends every session, API token and webhook."""

from datetime import datetime

from sqlalchemy.orm import Session

from scorer import audit_log
from scorer.accounts import accounts, one_time_links
from scorer.accounts.credentials import end_credentials
from scorer.acting import Acting
from scorer.db.accounts import account_by_email, has_identity, lock_account
from scorer.db.tables import Account
from scorer.notifications import outbox

SUBJECT = "Reset your Kennel password"
BODY = """Hello {name},

Somebody, probably you, asked to reset the password of your Kennel account {handle}. Set a new one within one hour:

{link}

If this was not you, ignore this email: nothing has changed.
"""


def request_reset(session: Session, email: str, *, secret: str, site: str, now: datetime) -> None:
    """Mail a reset link to the account with this confirmed address.

    For an unknown address nothing happens: the caller must not learn which addresses have accounts.
    """
    account = account_by_email(session, accounts.require_email(email))
    if account is None or account.email is None:
        return
    link = link_for(session, account, secret=secret, site=site, now=now)
    body = BODY.format(name=account.name, handle=account.handle, link=link)
    outbox.queue_mail(
        session, account.email, SUBJECT, body=body, now=now, expires_at=now + one_time_links.LINK_LIFETIMES["reset"]
    )


def link_for(session: Session, account: Account, *, secret: str, site: str, now: datetime) -> str:
    """Return the address of a new reset link; ``site`` is the address of the service."""
    one_time_links.issue(session, "reset", secret, account=account, now=now)
    return f"{site}/new-password#{secret}"


def find_link_account(session: Session, secret: str, *, now: datetime) -> Account:
    """Return the account of a reset link; ``NotFound`` if the link is unknown, used or expired."""
    account = one_time_links.find(session, "reset", secret, now=now).account
    assert account is not None  # noqa: S101 - reset links are made for accounts only
    return account


def complete(session: Session, secret: str, password_hash: str, *, now: datetime) -> Account:
    """Set the password of the link's account and end its credentials, which may be lost like the password.

    An account that had neither a password nor an issuer's identity keeps its credentials: nobody can have stolen it.
    ``NotFound`` if the link is unknown, used or expired.
    """
    account = find_link_account(session, secret, now=now)
    one_time_links.use(session, "reset", secret, now=now)
    lock_account(session, account.id)  # a simultaneous sign-in needs the new password, or its session ends here
    if account.password_hash is not None or has_identity(session, account.id):
        end_credentials(session, account, now=now)
    account.password_hash = password_hash
    accounts.notify_owner(session, account, accounts.CREDENTIAL_CHANGED, now=now)
    audit_log.record_action(Acting(session, account, now), "password.reset", f"account:{account.handle}")
    return account
