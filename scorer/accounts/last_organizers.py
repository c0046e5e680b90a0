"""Who decides disputes: no act takes the last organizer from a competition."""

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.orm import Session

from scorer.db import accounts, competition_roles
from scorer.errors import Conflict


@contextmanager
def keep_organizers(session: Session) -> Iterator[None]:
    """``Conflict`` (``last-organizer``) if what is done within takes the last organizer from a competition: the last of
    the people named for it and of the admins who have not competed in it, without those who are suspended. Of two who
    go at once, the second is the last. What had none before hinders nobody."""
    accounts.lock_names(session)
    before = competition_roles.without_organizer(session)
    yield
    session.flush()
    lost = [title for key, title in competition_roles.without_organizer(session).items() if key not in before]
    if lost:
        more = f" (and {len(lost) - 1} more)" if len(lost) > 1 else ""
        raise Conflict(
            "last-organizer",
            f"Nobody would be left to decide disputes in {lost[0]}{more}. Name another organizer there first, or make "
            "somebody an admin who has not competed in it.",
        )
