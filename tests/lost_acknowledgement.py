"""A COMMIT that succeeds while its acknowledgement is lost, as in a failover."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import event
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session

from scorer.db.tables import Table


@contextmanager
def lost_acknowledgement(row_type: type[Table]) -> Iterator[list[str]]:
    """Lose the acknowledgement of the first transaction that adds a row of ``row_type``.

    The yielded list contains the table's name after that.
    """
    lost: list[str] = []
    adding: set[int] = set()

    def see_new_rows(session: Session, _: Any) -> None:
        if any(isinstance(row, row_type) for row in session.new):
            adding.add(id(session))

    def lose(session: Session) -> None:
        if id(session) in adding and not lost:
            lost.append(row_type.__tablename__)
            raise OperationalError("COMMIT", {}, Exception("server closed the connection unexpectedly"))

    event.listen(Session, "after_flush", see_new_rows)
    event.listen(Session, "after_commit", lose)
    yield lost
    event.remove(Session, "after_flush", see_new_rows)
    event.remove(Session, "after_commit", lose)
