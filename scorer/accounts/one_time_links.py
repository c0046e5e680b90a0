"""One-time links for password resets, mail confirmations, invitations and sign-ins: secrets that work once and expire.

The secret is the fragment of the link's address, which browsers send to no server: the page puts it into its form.
"""

from datetime import datetime, timedelta
from typing import Literal
from urllib.parse import quote

from sqlalchemy.orm import Session

from scorer.db import accounts
from scorer.db.tables import Account, OneTimeLink
from scorer.errors import NotFound
from scorer.identifiers import digest_of

Purpose = Literal["reset", "confirmation", "invitation", "sign-in"]
LINK_LIFETIMES: dict[Purpose, timedelta] = {
    "reset": timedelta(hours=1),
    "confirmation": timedelta(days=3),
    "invitation": timedelta(days=14),
    "sign-in": timedelta(hours=1),
}


def issue(
    session: Session,
    purpose: Purpose,
    secret: str,
    *,
    now: datetime,
    account: Account | None = None,
    email: str | None = None,
) -> OneTimeLink:
    """Create the link with ``secret`` (random, made by the caller) for ``purpose``; it voids the account's earlier
    links of that purpose."""
    if account is not None:
        accounts.void_links(session, account.id, purpose, now=now)
    link = OneTimeLink(
        digest=digest_of(secret),
        purpose=purpose,
        account_id=account.id if account is not None else None,
        email=email,
        created_at=now,
        expires_at=now + LINK_LIFETIMES[purpose],
    )
    session.add(link)
    session.flush()
    return link


def find(session: Session, purpose: Purpose, secret: str, *, now: datetime) -> OneTimeLink:
    """The link with ``secret``, locked for this transaction; ``NotFound`` if it is unknown, used already or expired."""
    link = accounts.lock_link(session, digest_of(secret), purpose, now=now)
    if link is None:
        raise NotFound("no-link", "This link does not work (any more): it works once, and not for long.")
    return link


def use(session: Session, purpose: Purpose, secret: str, *, now: datetime) -> OneTimeLink:
    """Mark a link as used; ``NotFound`` if it is unknown, used already or expired."""
    link = find(session, purpose, secret, now=now)
    link.used_at = now
    return link


def sign_in_link(session: Session, account: Account, *, secret: str, site: str, onward: str, now: datetime) -> str:
    """The address of a new sign-in link that leads to the page ``onward``; ``site`` is the address of the service. It
    voids the account's earlier sign-in links."""
    issue(session, "sign-in", secret, account=account, now=now)
    return f"{site}/signin/link?next={quote(onward)}#{secret}"


def use_sign_in_link(session: Session, secret: str, *, now: datetime) -> Account:
    """The account of a sign-in link, which is used from now on; ``NotFound`` if it is used, expired or unknown."""
    account = use(session, "sign-in", secret, now=now).account
    assert account is not None  # noqa: S101 - sign-in links are made for accounts only
    return account
