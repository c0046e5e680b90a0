"""The transaction of a request: committed or rolled back, in a thread only where it has used the database."""

from collections.abc import Callable
from threading import Thread, current_thread

import anyio
import pytest
from sqlalchemy import event, select
from sqlalchemy.orm import Session

from api.http.transactions import request_transaction
from scorer.db.session import engine_of, sessions_of
from scorer.db.tables import Account
from scorer.settings import Settings
from tests.people import create_people


class Refused(Exception):
    """What a route raises."""


@pytest.mark.parametrize(
    ("use", "fails", "handles", "in_loop"),
    [
        (lambda _: None, False, [], True),
        (create_people, False, ["admin", "organizer"], False),
        (create_people, True, [], False),
        (lambda _: None, True, [], True),
    ],
    ids=["nothing-asked", "written", "written-and-failed", "nothing-asked-and-failed"],
)
def test_a_request_ends_its_transaction_in_a_thread_if_it_has_used_the_database(
    settings: Settings, use: Callable[[Session], object], *, fails: bool, handles: list[str], in_loop: bool
) -> None:
    engine = engine_of(settings)
    sessions = sessions_of(engine)
    ended_in: list[Thread] = []
    event.listen(sessions, "after_transaction_end", lambda *_: ended_in.append(current_thread()))

    async def request() -> None:
        async with request_transaction(sessions.begin) as session:
            use(session)
            if fails:
                raise Refused

    if fails:
        with pytest.raises(Refused):
            anyio.run(request)
    else:
        anyio.run(request)
    assert (ended_in[-1] is current_thread()) == in_loop
    with sessions() as session:
        found = session.scalars(select(Account.handle)).all()
    assert set(handles) <= set(found)
    assert bool(found) == bool(handles)
    engine.dispose()
