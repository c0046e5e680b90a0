"""Who acts, when, and in which transaction: made once per request, or by a command or a worker."""

from dataclasses import dataclass
from datetime import datetime
from typing import Generic

from sqlalchemy.orm import Session
from typing_extensions import TypeVar

from scorer.db.tables import Account

ActorT_co = TypeVar("ActorT_co", bound=Account | None, default=Account, covariant=True)


@dataclass(frozen=True)
class Acting(Generic[ActorT_co]):
    """A transaction, the account that acts in it, and the time. ``Acting[Account | None]`` may have no account: that of
    a visitor, of the operator's commands, or of the service itself."""

    session: Session
    actor: ActorT_co
    now: datetime
