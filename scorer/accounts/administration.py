"""Admin actions on other accounts: suspend them, end their credentials."""

from scorer import audit_log
from scorer.accounts.accounts import find_account, keep_organizers, require_another_admin
from scorer.accounts.credentials import end_credentials
from scorer.acting import Acting
from scorer.db.tables import Account
from scorer.errors import Conflict


def set_suspended(acting: Acting, handle: str, *, suspended: bool, reason: str) -> Account:
    """Suspend an account, which ends its credentials, or restore it.

    ``Conflict`` for the admin's own account, and (``last-organizer``) for the last person who can decide disputes in a
    competition. Ending such an account's credentials is always possible.
    """
    account = find_account(acting.session, handle)
    if account.id == acting.actor.id:
        raise Conflict("own-account", "You can't suspend your own account. Ask another admin.")
    if suspended is (account.suspended_at is not None):
        return account
    if suspended:
        require_another_admin(acting.session, account)
    with keep_organizers(acting.session):
        account.suspended_at = acting.now if suspended else None
    if suspended:
        end_credentials(acting.session, account, now=acting.now)
    acting.session.flush()
    action = "account.suspended" if suspended else "account.restored"
    after = {"reason": reason} if reason else None
    audit_log.record_action(acting, action, f"account:{account.handle}", after=after)
    return account


def end_account_credentials(acting: Acting, handle: str) -> Account:
    """End all credentials of an account; its owner may sign in again."""
    account = find_account(acting.session, handle)
    end_credentials(acting.session, account, now=acting.now)
    audit_log.record_action(acting, "credentials.ended", f"account:{account.handle}")
    return account
