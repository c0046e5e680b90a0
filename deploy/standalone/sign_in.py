"""How the first admin signs in on the pages: what ``kennel up`` prints in a terminal."""

import secrets
from datetime import UTC, datetime

from scorer.accounts import sign_in_links
from scorer.db.accounts import account_by_handle
from scorer.db.session import connected
from scorer.settings import Settings


def sign_in_address(settings: Settings, handle: str) -> str:
    """The address at which the account signs in: a link that works once; the sign-in page if there is no such account
    any more."""
    secret, now = secrets.token_urlsafe(32), datetime.now(UTC)
    with connected(settings) as sessions, sessions.begin() as session:
        account = account_by_handle(session, handle)
        if account is None:
            return f"{settings.public_url}/signin"
        return sign_in_links.link_for(session, account, secret=secret, site=settings.public_url, onward="/", now=now)
