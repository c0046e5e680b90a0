"""An account's credentials: everything that lets somebody act or read as its owner. They end together.

Sessions and API tokens, webhooks, which report to their receiver, unused links, which could change the address, and
known browsers.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.orm import Session

from scorer.db import accounts
from scorer.db.tables import Account
from scorer.notifications import webhooks


@dataclass(frozen=True)
class KeptCredentials:
    session: int | None = None
    tokens: Collection[int] = ()
    webhooks: Collection[int] = ()


NOTHING = KeptCredentials()


def end_credentials(session: Session, account: Account, *, keep: KeptCredentials = NOTHING, now: datetime) -> None:
    """End all of an account's credentials except those to ``keep``. The password stays."""
    accounts.end_sessions(session, account.id, now, exclude=keep.session)
    accounts.revoke_tokens(session, account.id, now, exclude=keep.tokens)
    accounts.forget_devices(session, account.id)
    for purpose in ("reset", "confirmation"):
        accounts.void_links(session, account.id, purpose, now=now)
    webhooks.end_all(session, account, exclude=keep.webhooks, now=now)
