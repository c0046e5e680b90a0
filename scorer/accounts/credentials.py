"""An account's credentials: all by which somebody acts or reads as its owner. They end together when it is taken back.

Besides sessions and API tokens these are webhooks, which go on telling whoever has made them, links that were asked for
and not yet followed, which could change the address, and browsers that are known.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.orm import Session

from scorer.db import accounts
from scorer.db.tables import Account
from scorer.notifications import webhooks


@dataclass(frozen=True)
class Kept:
    """The credentials that stay, by id."""

    session: int | None = None
    tokens: Collection[int] = ()
    webhooks: Collection[int] = ()


NOTHING = Kept()


def end_credentials(session: Session, account: Account, *, keep: Kept = NOTHING, now: datetime) -> None:
    """End all of an account's credentials but those to ``keep``; its password stays."""
    accounts.end_sessions(session, account.id, now, exclude=keep.session)
    accounts.revoke_tokens(session, account.id, now, exclude=keep.tokens)
    accounts.forget_devices(session, account.id)
    for purpose in ("reset", "confirmation"):
        accounts.void_links(session, account.id, purpose, now=now)
    webhooks.end_all(session, account, exclude=keep.webhooks, now=now)
