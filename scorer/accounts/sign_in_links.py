"""Sign-in links: the service shows them in the terminal of the person who runs it. Each signs one account in, once."""

from datetime import datetime
from urllib.parse import quote

from sqlalchemy.orm import Session

from scorer.accounts import one_time_links
from scorer.db.tables import Account


def link_for(session: Session, account: Account, *, secret: str, site: str, onward: str, now: datetime) -> str:
    """The address of a new sign-in link that leads to the page ``onward``; ``site`` is the address of the service. It
    voids the account's earlier sign-in links."""
    one_time_links.issue(session, "sign-in", secret, account=account, now=now)
    return f"{site}/signin/link?next={quote(onward)}#{secret}"


def use(session: Session, secret: str, *, now: datetime) -> Account:
    """The account of a sign-in link, which is used from now on; ``NotFound`` if it is used, expired or unknown."""
    account = one_time_links.use(session, "sign-in", secret, now=now).account
    assert account is not None  # noqa: S101 - sign-in links are made for accounts only
    return account
