"""One-time links for password resets, mail confirmations, invitations and sign-ins.

The secret is in the fragment of the address, which browsers don't send to servers. The page puts it into its form.
"""

from datetime import datetime, timedelta
from typing import Literal
from urllib.parse import quote

from sqlalchemy.orm import Session

from scorer.db import accounts
from scorer.db.tables import Account, OneTimeLink
from scorer.errors import NotFound
from scorer.identifiers import hash_secret

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
    """Create the link with ``secret`` (random, made by the caller) and void the account's earlier links for
    ``purpose``."""
    if account is not None:
        accounts.void_links(session, account.id, purpose, now=now)
    link = OneTimeLink(
        digest=hash_secret(secret),
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
    """Return the link with ``secret``, locked for this transaction; ``NotFound`` if it is unknown, used or expired."""
    link = accounts.lock_link(session, hash_secret(secret), purpose, now=now)
    if link is None:
        raise NotFound("no-link", "This link is invalid, has expired or was already used. Ask for a new one.")
    return link


def use(session: Session, purpose: Purpose, secret: str, *, now: datetime) -> OneTimeLink:
    """Mark a link as used; ``NotFound`` if it is unknown, used or expired."""
    link = find(session, purpose, secret, now=now)
    link.used_at = now
    return link


def sign_in_link(session: Session, account: Account, *, secret: str, site: str, onward: str, now: datetime) -> str:
    """Return the address of a new sign-in link to the page ``onward``; ``site`` is the address of the service.

    Earlier sign-in links of the account are voided.
    """
    issue(session, "sign-in", secret, account=account, now=now)
    return f"{site}/signin/link?next={quote(onward)}#{secret}"


def use_sign_in_link(session: Session, secret: str, *, now: datetime) -> Account:
    """Use a sign-in link and return its account; ``NotFound`` if it is unknown, used or expired."""
    account = use(session, "sign-in", secret, now=now).account
    assert account is not None  # noqa: S101 - sign-in links are made for accounts only
    return account
