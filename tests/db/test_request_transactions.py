"""The transaction of a request: committed or rolled back, in a thread only where it has used the database."""

from collections.abc import Callable
from contextlib import nullcontext
from threading import Thread, current_thread

import anyio
import pytest
from fastapi import Response
from sqlalchemy import event, select
from sqlalchemy.orm import Session

from api.http.forms import RefusedForm
from api.http.transactions import request_transaction
from scorer.db.session import engine_of, sessions_of
from scorer.db.tables import Account
from scorer.settings import Settings
from tests.people import create_people


@pytest.mark.parametrize(
    ("use", "error", "handles", "in_loop"),
    [
        (lambda _: None, None, [], True),
        (create_people, None, ["admin", "organizer"], False),
        (create_people, RefusedForm(Response()), ["admin", "organizer"], False),
        (create_people, ValueError(), [], False),
        (lambda _: None, ValueError(), [], True),
    ],
    ids=["nothing-asked", "written", "written-and-refused", "written-and-failed", "nothing-asked-and-failed"],
)
def test_a_request_that_used_a_database_ends_its_transaction_in_a_thread(
    settings: Settings, use: Callable[[Session], object], error: Exception | None, handles: list[str], *, in_loop: bool
) -> None:
    engine = engine_of(settings)
    sessions = sessions_of(engine)
    ended_in: list[Thread] = []
    event.listen(sessions, "after_transaction_end", lambda *_: ended_in.append(current_thread()))

    async def request() -> None:
        async with request_transaction(sessions.begin) as session:
            use(session)
            if error is not None:
                raise error

    with pytest.raises(type(error)) if error is not None else nullcontext():
        anyio.run(request)
    assert (ended_in[-1] is current_thread()) == in_loop
    with sessions() as session:
        found = session.scalars(select(Account.handle)).all()
    assert set(handles) <= set(found)
    assert bool(found) == bool(handles)
    engine.dispose()
