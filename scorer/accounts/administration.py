"""What admins do with others' accounts: suspend them, and end their credentials."""

from datetime import datetime

from sqlalchemy.orm import Session

from scorer import audit_log
from scorer.accounts.accounts import keep_organizers, require_another_admin
from scorer.accounts.credentials import end_credentials
from scorer.db import accounts
from scorer.db.tables import Account
from scorer.errors import Conflict, NotFound


def find_account(session: Session, handle: str) -> Account:
    """The account with this handle; ``NotFound`` if there is none."""
    account = accounts.account_by_handle(session, handle)
    if account is None:
        raise NotFound("no-account", f"There is no account {handle!r}.")
    return account


def set_suspended(
    session: Session, handle: str, *, suspended: bool, reason: str, author: Account, now: datetime
) -> Account:
    """Suspend an account, which ends its credentials, or let it sign in again. ``Conflict`` for one's own, and
    (``last-organizer``) while nobody else could decide disputes in a competition: its credentials can be ended at
    once."""
    account = find_account(session, handle)
    if account.id == author.id:
        raise Conflict("own-account", "Another admin must do this to your account.")
    if suspended is (account.suspended_at is not None):
        return account
    if suspended:
        require_another_admin(session, account)
    with keep_organizers(session):
        account.suspended_at = now if suspended else None
    if suspended:
        end_credentials(session, account, now=now)
    session.flush()
    action = "account.suspended" if suspended else "account.restored"
    after = {"reason": reason} if reason else None
    audit_log.record_action(session, action, f"account:{account.handle}", actor=author, now=now, after=after)
    return account


def end_credentials_of(session: Session, handle: str, *, author: Account, now: datetime) -> Account:
    """End all credentials of an account; its owner may sign in again."""
    account = find_account(session, handle)
    end_credentials(session, account, now=now)
    audit_log.record_action(session, "credentials.ended", f"account:{account.handle}", actor=author, now=now)
    return account
