"""Signing up: an account at once; its mail address counts when its owner has followed the link sent there.

So whoever signs up with somebody else's address learns nothing: they get an account without an address, and the
owner of the address gets a mail.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from sqlalchemy.orm import Session

from scorer import audit_log
from scorer.accounts import accounts, one_time_links
from scorer.db import accounts as db_accounts
from scorer.db.tables import Account
from scorer.errors import Conflict, Forbidden
from scorer.notifications import outbox

Mode = Literal["open", "invitation"]
# It goes to whatever address somebody typed, so it holds no free text of theirs.
CONFIRM = """Hello {handle},

please confirm that this is your address, so that Kennel can write to you and give you a new password when you need one:

{site}/confirm/{secret}

If you have no Kennel account of that name, ignore this mail.
"""
KNOWN = """Hello {name},

somebody gave this address for the new Kennel account {other}. It belongs to your account {handle} already, so nothing
has changed. If it was you and you have forgotten your password, set a new one here:

{site}/reset
"""
INVITE = """Hello,

{inviter} invites you to Kennel. Make your account here within two weeks:

{site}/signup?invitation={secret}
"""


@dataclass(frozen=True)
class Application:
    """What a person says when they sign up."""

    handle: str
    email: str
    name: str = ""
    invitation: str = ""


def sign_up(
    session: Session, wanted: Application, password_hash: str, *, mode: Mode, secret: str, site: str, now: datetime
) -> Account:
    """Make a participant's account. ``secret`` (random, made at the edge) is the link that confirms the address.

    Raises ``Forbidden`` without an invitation where one is needed, ``Conflict`` for a handle or name that is taken,
    ``Invalid`` for a bad handle, name or address. A known address makes no difference.
    """
    if mode == "invitation" and not wanted.invitation:
        raise Forbidden("invitation-needed", "Accounts here are by invitation; please ask the organizers for one.")
    if wanted.invitation:
        one_time_links.use(session, "invitation", wanted.invitation, now=now)
    name = " ".join(wanted.name.split())
    for each in filter(None, (wanted.handle, name)):
        accounts.require_free_name(session, each)
    account = accounts.create_account(session, handle=wanted.handle, name=name, role="participant", now=now)
    account.password_hash = password_hash
    ask_confirmation(session, account, wanted.email, secret=secret, site=site, now=now)
    return account


def ask_confirmation(session: Session, account: Account, email: str, *, secret: str, site: str, now: datetime) -> None:
    """Send a link to ``email`` that makes it the account's address; if it is somebody's already, tell them instead."""
    email = accounts.require_email(email)
    one_time_links.issue(session, "confirmation", secret, account=account, email=email, now=now)
    owner = db_accounts.account_by_email(session, email)
    if owner is None or owner.id == account.id:
        body = CONFIRM.format(handle=account.handle, site=site, secret=secret)
        expires_at = now + one_time_links.LINK_LIFETIMES["confirmation"]
        outbox.queue_mail(session, email, "Please confirm your address", body, now=now, expires_at=expires_at)
    else:
        body = KNOWN.format(name=owner.name, handle=owner.handle, other=account.handle, site=site)
        outbox.queue_mail(session, email, "You have an account already", body, now=now)


def confirm_address(session: Session, secret: str, *, now: datetime) -> Account:
    """Let the address to which this link was sent count; ``NotFound`` for a link that does not work, ``Conflict`` if
    another account has confirmed the address since."""
    link = one_time_links.use(session, "confirmation", secret, now=now)
    assert link.account is not None  # noqa: S101 - confirmation links are made for accounts and addresses only
    assert link.email is not None  # noqa: S101
    db_accounts.lock_names(session)
    owner = db_accounts.account_by_email(session, link.email)
    if owner is not None and owner.id != link.account.id:
        raise Conflict("email-taken", f"This address belongs to the account {owner.handle}.")
    link.account.email = link.email
    session.flush()
    return link.account


def invite_account(
    session: Session, email: str | None, *, inviter: Account | None, secret: str, site: str, now: datetime
) -> str:
    """A link with which one person can sign up, sent to ``email`` if there is one; ``inviter`` None: the operator."""
    if email is not None:
        email = accounts.require_email(email)
        name = inviter.name if inviter is not None else "The operator"
        body = INVITE.format(inviter=name, site=site, secret=secret)
        expires_at = now + one_time_links.LINK_LIFETIMES["invitation"]
        outbox.queue_mail(session, email, "An invitation to Kennel", body, now=now, expires_at=expires_at)
    one_time_links.issue(session, "invitation", secret, email=email, now=now)
    audit_log.record_action(session, "invitation.made", "invitation", actor=inviter, now=now, after={"email": email})
    return f"{site}/signup?invitation={secret}"
