"""Sign-up: creates an account without an email address. The link mailed to the address confirms it.

Signing up with another person's address reveals nothing: the account has no address, and the owner of the address gets
a mail.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from sqlalchemy.orm import Session

from scorer import audit_log
from scorer.accounts import accounts, one_time_links
from scorer.acting import Acting
from scorer.db.accounts import account_by_email, lock_names
from scorer.db.tables import Account
from scorer.errors import Conflict, Forbidden
from scorer.notifications import outbox

Mode = Literal["open", "invitation"]
# Anybody can send this mail to any address, so it contains no free text of the sender.
CONFIRM = """Hello {handle},

Please confirm your email address by opening this link:

{site}/confirm#{secret}

Kennel sends notices and password reset links to this address. If the Kennel account {handle} is not yours, ignore this
email.
"""
KNOWN = """Hello {name},

Somebody entered your email address for the Kennel account {other}. The address already belongs to your account
{handle}, so nothing has changed. If this was you and you have forgotten your password, set a new one here:

{site}/reset
"""
INVITE = """Hello,

{inviter} invites you to Kennel. Create your account here within two weeks:

{site}/signup#{secret}
"""


@dataclass(frozen=True)
class Application:
    """The sign-up form: ``invitation`` is the secret of an invitation link, empty without one."""

    handle: str
    email: str
    name: str = ""
    invitation: str = ""


def sign_up(
    session: Session, wanted: Application, password_hash: str, *, mode: Mode, secret: str, site: str, now: datetime
) -> Account:
    """Create a participant's account. ``secret`` (random, made by the caller) is that of the link that confirms the
    address.

    ``Forbidden`` if an invitation is needed and missing, ``Conflict`` if the handle or name is taken, ``Invalid`` for a
    bad handle, name or address. The address of another account raises nothing.
    """
    if mode == "invitation" and not wanted.invitation:
        raise Forbidden("invitation-needed", "You need an invitation to create an account. Ask the organizers for one.")
    if wanted.invitation:
        one_time_links.use(session, "invitation", wanted.invitation, now=now)
    name = " ".join(wanted.name.split())
    for new_name in filter(None, (wanted.handle, name)):
        accounts.require_free_name(session, new_name)
    account = accounts.create_account(session, handle=wanted.handle, name=name, role="participant", now=now)
    account.password_hash = password_hash
    request_confirmation(session, account, wanted.email, secret=secret, site=site, now=now)
    return account


CHANGE_ASKED = """Somebody, probably you, asked to change the email address of your Kennel account {handle}. To confirm
the change, open the link that Kennel has sent to the new address. The link works for three days.

If this was not you, change your password now. This invalidates the link.
"""
CHANGED = """The email address of your Kennel account {handle} has changed. This is the last email to this address.

If this was not you, write to the organizers.
"""


def request_confirmation(
    session: Session, account: Account, email: str, *, secret: str, site: str, now: datetime
) -> None:
    """Mail a link to ``email`` that makes it the account's address, or a hint if it belongs to another account."""
    email = accounts.require_email(email)
    one_time_links.issue(session, "confirmation", secret, account=account, email=email, now=now)
    owner = account_by_email(session, email)
    if owner is None or owner.id == account.id:
        body = CONFIRM.format(handle=account.handle, site=site, secret=secret)
        expires_at = now + one_time_links.LINK_LIFETIMES["confirmation"]
        outbox.queue_mail(session, email, "Confirm your email address", body=body, now=now, expires_at=expires_at)
        if account.email is not None and account.email != email:
            accounts.notify_owner(session, account, CHANGE_ASKED, now=now)
    else:
        body = KNOWN.format(name=owner.name, handle=owner.handle, other=account.handle, site=site)
        outbox.queue_mail(session, email, "You already have a Kennel account", body=body, now=now)


def confirm_address(session: Session, secret: str, *, now: datetime) -> Account:
    """Make the link's address the account's.

    ``NotFound`` if the link is unknown, used or expired; ``Conflict`` if another account has since confirmed the
    address.
    """
    link = one_time_links.use(session, "confirmation", secret, now=now)
    assert link.account is not None  # noqa: S101 - confirmation links are made for accounts and addresses only
    assert link.email is not None  # noqa: S101
    lock_names(session)
    owner = account_by_email(session, link.email)
    if owner is not None and owner.id != link.account.id:
        raise Conflict("email-taken", f"This address belongs to the account {owner.handle}. Use another address.")
    account, before = link.account, link.account.email
    account.email = link.email
    session.flush()
    if before is not None and before != account.email:
        accounts.notify_owner(session, account, CHANGED, email=before, now=now)
    audit_log.record_action(Acting(session, account, now), "email.changed", f"account:{account.handle}")
    return account


def invite_account(acting: Acting[Account | None], email: str | None, *, secret: str, site: str) -> str:
    """Return a link for one sign-up and mail it to ``email`` if given; no actor means the operator."""
    if email is not None:
        email = accounts.require_email(email)
        name = acting.actor.name if acting.actor is not None else "The operator"
        body = INVITE.format(inviter=name, site=site, secret=secret)
        expires_at = acting.now + one_time_links.LINK_LIFETIMES["invitation"]
        outbox.queue_mail(
            acting.session, email, "An invitation to Kennel", body=body, now=acting.now, expires_at=expires_at
        )
    one_time_links.issue(acting.session, "invitation", secret, email=email, now=acting.now)
    audit_log.record_action(acting, "invitation.made", "invitation", after={"email": email})
    return f"{site}/signup#{secret}"
