"""Accounts: creating them, checking names and email addresses, changing roles and passwords.

No action may leave a competition without an organizer, who decides disputes.
"""

import re
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

from sqlalchemy.orm import Session

from scorer import audit_log
from scorer.accounts.credentials import KeptCredentials, end_credentials
from scorer.accounts.roles import _require_known_role, reviews_any
from scorer.acting import Acting
from scorer.db import accounts, competition_roles
from scorer.db.tables import Account
from scorer.errors import Conflict, Forbidden, Invalid, NotFound
from scorer.notifications import outbox


@contextmanager
def keep_organizers(session: Session) -> Iterator[None]:
    """``Conflict`` (``last-organizer``) if the block leaves a competition without an organizer that had one before.

    Active accounts count: organizers named for the competition, and admins who have not competed in it. The lock makes
    concurrent removals wait for each other.
    """
    accounts.lock_names(session)
    before = competition_roles.without_organizer(session)
    yield
    session.flush()
    lost = [title for key, title in competition_roles.without_organizer(session).items() if key not in before]
    if lost:
        more = f" and {len(lost) - 1} more" if len(lost) > 1 else ""
        raise Conflict(
            "last-organizer",
            f"This would leave nobody to decide disputes in {lost[0]}{more}. First add another organizer, or make "
            "somebody who has not competed there an admin.",
        )


HANDLE_PATTERN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{1,38}")
EMAIL_PATTERN = re.compile(r"[^\s@\"<>(),:;\[\]\\]+@[^\s@\"<>(),:;\[\]\\]+\.[^\s@\"<>(),:;\[\]\\.]+")
"""Stricter than RFC 5322, but matches every address in practical use. Only a mail shows whether an address works."""
MAX_EMAIL_LENGTH = 254
CREDENTIAL_CHANGED = """The password of your Kennel account {handle} was changed.

If this was not you, set a new password with "Forgot your password?" on the sign-in page. This ends every session,
API token and webhook of your account.
"""


def create_account(session: Session, *, handle: str, name: str, role: str, now: datetime) -> Account:
    """Create an account; ``Conflict`` if the handle is taken, regardless of case."""
    handle = unicodedata.normalize("NFKC", handle)
    if not HANDLE_PATTERN.fullmatch(handle):
        raise Invalid(
            "bad-handle",
            f"{handle!r} is not a valid handle. Use 2 to 39 letters, digits, dots, dashes or underscores, and begin "
            "with a letter or a digit.",
        )
    _require_known_role(role)
    accounts.lock_names(session)
    if accounts.account_by_handle(session, handle) is not None:
        raise Conflict("handle-taken", f"The handle {handle!r} is taken. Please choose another one.")
    account = Account(handle=handle, name=name or handle, role=role, created_at=now)
    session.add(account)
    session.flush()
    return account


def find_account(session: Session, handle: str) -> Account:
    """Return the account with this handle; ``NotFound`` if there is none."""
    account = accounts.account_by_handle(session, handle)
    if account is None:
        raise NotFound("no-account", f"No account has the handle {handle!r}. Check the spelling.")
    return account


def change_role(acting: Acting[Account | None], handle: str, role: str) -> Account:
    """Change the role of an account; no actor means the operator.

    ``Conflict`` for the last admin, and (``last-organizer``) for the last person who can decide disputes in a
    competition.
    """
    _require_known_role(role)
    account = find_account(acting.session, handle)
    before = account.role
    if role != "admin":
        require_another_admin(acting.session, account)
    if not reviews_any(account):
        # No token from before the new role may have its rights.
        accounts.withdraw_scope(acting.session, account.id, "organize")
    if before == "admin" and role != "admin":
        # An admin could see every competition.
        competition_roles.add_former_organizer(acting.session, account.id, acting.now)
    with keep_organizers(acting.session):
        account.role = role
    subject = f"account:{account.handle}"
    audit_log.record_action(acting, "role.changed", subject, before={"role": before}, after={"role": role})
    return account


def require_another_admin(session: Session, account: Account) -> None:
    """``Conflict`` for the last active admin. The lock makes concurrent removals wait for each other."""
    accounts.lock_names(session)
    if [admin.id for admin in accounts.active_admins(session)] == [account.id]:
        raise Conflict("last-admin", f"{account.handle} is the last admin. Make another account an admin first.")


def require_free_name(session: Session, name: str) -> None:
    """``Conflict`` if another account has this name; ``Invalid`` for a name with invisible characters."""
    if any(unicodedata.category(character)[0] == "C" for character in name):
        raise Invalid("bad-name", "The name contains invisible characters or line breaks. Remove them.")
    accounts.lock_names(session)
    if accounts.is_name_taken(session, name):
        raise Conflict("name-taken", f"The name {name!r} is taken. Please choose another one.")


def require_email(email: str) -> str:
    """Return the email address without surrounding spaces; ``Invalid`` if it is not one."""
    email = email.strip()
    if not is_email(email):
        raise Invalid("bad-email", f"{email!r} is not a valid email address. Use ASCII characters only.")
    return email


def is_email(text: str) -> bool:
    """Whether this can be an email address, in ASCII.

    Lower-casing rules for other letters differ, so two people could seem to have the same address.
    """
    fits = len(text) <= MAX_EMAIL_LENGTH and text.isascii() and text.isprintable()
    return fits and EMAIL_PATTERN.fullmatch(text) is not None


def change_password(
    session: Session, account: Account, matched: str | None, *, new_hash: str, keep: KeptCredentials, now: datetime
) -> None:
    """Set a new password and end the account's credentials except those to ``keep``.

    ``matched`` is the hash that the current password matched; ``Forbidden`` if it is not the account's. An account
    without a password (created by an admin or signed in by an issuer) gets its first one without this check.
    """
    account = session.get_one(Account, account.id, with_for_update={"key_share": True})
    if account.password_hash is not None and account.password_hash != matched:
        raise Forbidden("wrong-password", "The current password is wrong.")
    account.password_hash = new_hash
    end_credentials(session, account, keep=keep, now=now)
    notify_owner(session, account, CREDENTIAL_CHANGED, now=now)
    audit_log.record_action(Acting(session, account, now), "password.changed", f"account:{account.handle}")


def notify_owner(session: Session, account: Account, text: str, *, now: datetime, email: str | None = None) -> None:
    """Notify the owner of an account of a change to it, at ``email`` or the account's address."""
    recipient = email or account.email
    if recipient is not None:
        body = f"Hello {account.name},\n\n{text.format(handle=account.handle)}"
        outbox.queue_mail(session, recipient, "About your Kennel account", body=body, now=now)
