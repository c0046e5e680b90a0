"""If PostgreSQL does not respond, waiting ends."""

import multiprocessing
import select
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BytesIO
from threading import Event, Timer
from typing import Any

import psycopg2
import pytest
from sqlalchemy import Engine, make_url, text
from sqlalchemy.exc import DBAPIError, OperationalError
from sqlalchemy.orm import Session

from scorer.db import answer_timeouts
from scorer.db.session import allow_long_statements, build_engine, build_sessions, ping
from scorer.settings import Settings
from tests.flaky_proxy import FlakyProxy

SHORT = 0.3
TOO_LATE_SECONDS = 30.0


@pytest.fixture
def proxy() -> FlakyProxy:
    return FlakyProxy([], after=0, cuts=0, timeout=600)


@pytest.fixture
def engine(settings: Settings, proxy: FlakyProxy, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    """An engine that connects through the proxy and waits only briefly for responses."""
    monkeypatch.setattr(answer_timeouts, "ANSWER_SECONDS", SHORT)
    monkeypatch.setattr(answer_timeouts, "PING_SECONDS", SHORT)
    monkeypatch.setattr(answer_timeouts, "CONNECT_SECONDS", 2)
    monkeypatch.setattr(answer_timeouts, "CHECK_SECONDS", SHORT / 10)
    url = make_url(settings.database_url.get_secret_value())
    proxy.servers = [f"http://127.0.0.1:{url.port}"]
    with proxy.running() as address:
        port = int(address.rpartition(":")[2])
        through = url.set(host="127.0.0.1", port=port, query={}).render_as_string(hide_password=False)
        engine = build_engine(settings.model_copy(update={"database_url": type(settings.database_url)(through)}))
        yield engine
        proxy.silent = False
        engine.dispose()


def copy(session: Session) -> None:
    """Read with COPY, as boards are read."""
    cursor = session.connection().connection.cursor()
    cursor.copy_expert("COPY (SELECT 1) TO STDOUT", BytesIO())


def fetch(session: Session) -> None:
    """Read the rest of a streamed result."""
    for _ in session.info["rows"]:
        pass


WAITS: dict[str, Callable[[Session], object]] = {
    "statement": lambda session: session.execute(text("SELECT 2")),
    "commit": Session.commit,
    "rollback": lambda session: session.connection().connection.rollback(),
    "copy": copy,
    "fetch": fetch,
}


@contextmanager
def ended_by_us(proxy: FlakyProxy) -> Iterator[None]:
    """Fail if the wait in the block lasts until the proxy cuts the connection."""
    too_late = Event()

    def cut() -> None:
        too_late.set()
        proxy.close_connections()

    timer = Timer(TOO_LATE_SECONDS, cut)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        assert not too_late.is_set(), "only the proxy ended the wait"


@pytest.mark.parametrize("name", WAITS)
def test_a_wait_for_a_silent_server_ends(engine: Engine, proxy: FlakyProxy, name: str) -> None:
    with Session(engine) as session:
        numbers = text("SELECT generate_series(1, 20000)")
        session.info["rows"] = session.execute(numbers, execution_options={"yield_per": 1000})
        session.info["rows"].fetchmany(10)
        session.execute(text("SELECT 1"))
        proxy.silent = True
        with pytest.raises((DBAPIError, psycopg2.Error)), ended_by_us(proxy):
            WAITS[name](session)
        proxy.silent = False
        session.invalidate()
    with Session(engine) as session:
        assert session.scalar(text("SELECT 3")) == 3, "the next request gets a new connection"


def test_a_check_of_a_silent_server_ends(engine: Engine, proxy: FlakyProxy) -> None:
    sessions = build_sessions(engine)
    ping(sessions)
    proxy.silent = True
    with pytest.raises(OperationalError), ended_by_us(proxy):
        ping(sessions)


def test_the_server_ends_statements_that_take_too_long(settings: Settings) -> None:
    engine = build_engine(settings)
    with engine.connect() as connection:
        rows = connection.execute(text("SELECT name, setting FROM pg_settings WHERE name LIKE '%timeout'"))
        limits = {row.name: row.setting for row in rows}
    engine.dispose()
    assert limits["lock_timeout"] == "10000"
    assert limits["statement_timeout"] == limits["idle_in_transaction_session_timeout"] == "60000"


def test_every_kind_of_first_statement_sets_the_limits(settings: Settings) -> None:
    """This includes bytes, server-side cursors, many parameters and COPY."""
    engine = build_engine(settings)
    raw: Any = engine.raw_connection()
    firsts: list[Callable[[Any], object]] = [
        lambda cursor: cursor.execute("SELECT 1"),
        lambda cursor: cursor.execute(b"SELECT 1"),
        lambda cursor: cursor.executemany("SELECT %s", [(1,), (2,)]),
        lambda cursor: cursor.copy_expert("COPY (SELECT 1) TO STDOUT", BytesIO()),
        lambda _: raw.driver_connection.cursor("streamed").execute("SELECT 1"),
    ]
    for first in firsts:
        with raw.cursor() as cursor:
            first(cursor)
            cursor.execute("SELECT current_setting('lock_timeout'), current_setting('timezone')")
            assert cursor.fetchone() == ("10s", "UTC")
        raw.rollback()
    raw.close()
    engine.dispose()


def test_an_idle_transaction_that_the_server_has_ended_may_be_repeated(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that was frozen loses only its connection."""
    monkeypatch.setattr(answer_timeouts, "IDLE_TRANSACTION_SECONDS", 0.05)
    engine = build_engine(settings)
    with engine.connect() as connection:
        connection.execute(text("SELECT 1"))
        socket = connection.connection.driver_connection.fileno()  # type: ignore[union-attr]
        assert select.select([socket], [], [], 60)[0], "the server closes the connection"
        with pytest.raises(OperationalError):
            connection.execute(text("SELECT 2"))
    with engine.connect() as connection:
        assert connection.scalar(text("SELECT 3")) == 3
    engine.dispose()


def test_a_forked_process_has_its_own_thread(engine: Engine) -> None:
    """Celery's workers are forked."""
    ping(build_sessions(engine))
    child = multiprocessing.get_context("fork").Process(target=wait_too_long, args=(engine,))
    child.start()
    child.join()
    assert child.exitcode == 0


def wait_too_long(engine: Engine) -> None:
    """Run a long statement in another process; it ends with an error."""
    engine.dispose(close=False)
    with engine.connect() as connection, pytest.raises(OperationalError):
        connection.execute(text("SELECT pg_sleep(20)"))


def test_a_transaction_may_have_long_statements(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the server nor this process ends them early. The next transaction has the usual limits."""
    monkeypatch.setattr(answer_timeouts, "ANSWER_MARGIN_SECONDS", 0.0)
    slow = text(f"SELECT pg_sleep({3 * SHORT})")
    with Session(engine) as session:
        allow_long_statements(session.connection(), 60)
        session.execute(slow)
        session.commit()
        with pytest.raises(DBAPIError):
            session.execute(slow)
        session.invalidate()
