"""Sessions: the transaction of a request, and read connections that the server has closed."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, nullcontext
from threading import Thread, current_thread

import anyio
import psycopg2.errors
import pytest
from fastapi import Response
from sqlalchemy import Connection, event, select, text
from sqlalchemy.orm import Session

from api.http.forms import RefusedForm
from api.http.transactions import request_transaction
from scorer.db.session import ConnectionLost, Connections, build_engine, build_sessions, connected
from scorer.db.tables import Account
from scorer.settings import Settings
from tests.people import create_people

END_OTHERS = text(
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
    " WHERE datname = current_database() AND pid <> pg_backend_pid()"
)
ONE = text("SELECT 1")


@pytest.fixture
def readers(settings: Settings) -> Iterator[Connections]:
    """A pool of three connections that the server has closed."""
    readers = Connections(settings, max_connections=3)
    with ExitStack() as held:
        for _ in range(3):
            held.enter_context(readers.moment()).execute(ONE)
    with connected(settings) as sessions, sessions() as session:
        session.execute(END_OTHERS)
    yield readers
    readers.close()


def ask(connection: Connection) -> None:
    connection.execute(ONE)


def ask_driver(connection: Connection, statement: str = "SELECT 1") -> None:
    """Run one statement on the driver, as columns are read, without SQLAlchemy."""
    driver = connection.connection.driver_connection
    assert driver is not None
    with driver.cursor() as cursor:
        cursor.execute(statement)


@pytest.mark.parametrize("read", [ask, ask_driver])
@pytest.mark.parametrize("kind", ["moment", "snapshot"])
def test_one_read_finds_all_connections_lost_and_the_next_succeeds(
    readers: Connections, kind: str, read: Callable[[Connection], None]
) -> None:
    with pytest.raises(ConnectionLost), getattr(readers, kind)() as connection:
        read(connection)
    with readers.snapshot() as connection:
        read(connection)


def test_a_refused_statement_is_no_lost_connection(settings: Settings) -> None:
    readers = Connections(settings, max_connections=1)
    with pytest.raises(psycopg2.errors.QueryCanceled), readers.snapshot() as connection:
        ask_driver(connection, "SET LOCAL statement_timeout = 50; SELECT pg_sleep(10)")
    readers.close()


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
    engine = build_engine(settings)
    sessions = build_sessions(engine)
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
