"""Known devices: browsers in which an account has signed in before, recognised by a cookie of their own.

Failures to sign in from elsewhere do not count against them, so no stranger can keep an account's owner out.
"""

from datetime import datetime, timedelta

from sqlalchemy.orm import Session

from scorer.db import accounts
from scorer.db.tables import Account
from scorer.identifiers import digest_of

DEVICE_LIFETIME = timedelta(days=365)
"""Since the last sign-in there."""


def is_known(session: Session, account: Account, secret: str | None, now: datetime) -> bool:
    """Whether the browser with this cookie is one of the account's."""
    return secret is not None and accounts.is_known_device(session, account.id, digest_of(secret), now)


def remember(session: Session, account: Account, secret: str, *, now: datetime) -> None:
    """Make the browser with this cookie one of the account's, from now on for the whole lifetime."""
    accounts.remember_device(session, account.id, digest_of(secret), now=now, expires_at=now + DEVICE_LIFETIME)
