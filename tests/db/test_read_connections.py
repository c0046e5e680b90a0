"""Connections for reading that the server has ended, as it does when it is restarted."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import psycopg2.errors
import pytest
from sqlalchemy import Connection, text

from scorer.db.session import ConnectionLost, Connections, connected
from scorer.settings import Settings

END_OTHERS = text(
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
    " WHERE datname = current_database() AND pid <> pg_backend_pid()"
)
ONE = text("SELECT 1")


@pytest.fixture
def readers(settings: Settings) -> Iterator[Connections]:
    """A pool of three connections, all of which the server has ended."""
    readers = Connections(settings, max_connections=3)
    with ExitStack() as held:
        for _ in range(3):
            held.enter_context(readers.moment()).execute(ONE)
    with connected(settings) as sessions, sessions() as session:
        session.execute(END_OTHERS)
    yield readers
    readers.close()


def ask(connection: Connection) -> None:
    """One statement."""
    connection.execute(ONE)


def ask_driver(connection: Connection, statement: str = "SELECT 1") -> None:
    """One statement that goes past SQLAlchemy, as columns are read."""
    driver = connection.connection.driver_connection
    assert driver is not None
    with driver.cursor() as cursor:
        cursor.execute(statement)


@pytest.mark.parametrize("read", [ask, ask_driver])
@pytest.mark.parametrize("kind", ["moment", "snapshot"])
def test_one_read_finds_that_all_are_lost_and_the_next_one_succeeds(
    readers: Connections, kind: str, read: Callable[[Connection], None]
) -> None:
    with pytest.raises(ConnectionLost), getattr(readers, kind)() as connection:
        read(connection)
    with readers.snapshot() as connection:
        read(connection)


def test_what_the_server_refuses_is_no_lost_connection(settings: Settings) -> None:
    readers = Connections(settings, max_connections=1)
    with pytest.raises(psycopg2.errors.QueryCanceled), readers.snapshot() as connection:
        ask_driver(connection, "SET LOCAL statement_timeout = 50; SELECT pg_sleep(10)")
    readers.close()
