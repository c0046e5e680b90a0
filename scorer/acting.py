"""Who acts, when, and in which transaction: made once per request, or by a command or a worker."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, Protocol

from sqlalchemy.orm import Session
from typing_extensions import TypeVar

from scorer.db.tables import Account

ActorT_co = TypeVar("ActorT_co", bound=Account | None, default=Account, covariant=True)


class HasAuthor(Protocol):
    author_id: Any
    created_at: Any


@dataclass(frozen=True)
class Acting(Generic[ActorT_co]):
    """A transaction, the account that acts in it, and the time.

    ``Acting[Account | None]`` has no account for a visitor, for the operator's commands and for the service itself.
    """

    session: Session
    actor: ActorT_co
    now: datetime

    def add(self: "Acting[Account]", row: HasAuthor) -> None:
        """Add a row with this account as its author; afterwards the row has its id."""
        row.author_id, row.created_at = self.actor.id, self.now
        self.session.add(row)
        self.session.flush()
