"""Time limits on everything that waits for PostgreSQL: connecting, statements, locks, idle transactions, and answers.

``SET LOCAL`` sets limits and time zone with the first statement of each transaction. A pooler in transaction mode
(PgBouncer) needs this, because it may use another server connection for each transaction and accepts no options at the
start of a connection.

The server itself ends slow statements. A silent server (frozen, or cut off behind an open connection) cannot do that,
so a thread of this process closes connections with an overdue answer. The waiting thread then gets
``OperationalError`` instead of waiting forever.
"""

import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import psycopg2.extensions

CONNECT_SECONDS = 5
LOCK_SECONDS = 10
STATEMENT_SECONDS = 60
IDLE_TRANSACTION_SECONDS = 60
"""The time without a statement after which a transaction is rolled back. Its client has frozen or lost power, and
others wait for its locks."""
ANSWER_MARGIN_SECONDS = 10.0
ANSWER_SECONDS = STATEMENT_SECONDS + ANSWER_MARGIN_SECONDS
"""The longest wait for an answer to a statement. The server ends statements earlier than that."""
PING_SECONDS = 5.0
PING = "SELECT 1"
"""The statement with which SQLAlchemy and readiness checks test whether the server answers."""
CHECK_SECONDS = 0.5


def _limit_statements() -> str:
    limits = {
        "lock_timeout": LOCK_SECONDS,
        "statement_timeout": STATEMENT_SECONDS,
        "idle_in_transaction_session_timeout": IDLE_TRANSACTION_SECONDS,
    }
    settings = {"timezone": "UTC", **{name: f"{seconds}s" for name, seconds in limits.items()}}
    return "".join(f"SET LOCAL {name} = '{value}'; " for name, value in settings.items())


def connection_options() -> dict[str, Any]:
    return {
        "connect_timeout": CONNECT_SECONDS,
        "keepalives_idle": 10,
        "keepalives_interval": 5,
        "keepalives_count": 3,
        "tcp_user_timeout": 20_000,
        "connection_factory": TimedConnection,
        "cursor_factory": TimedCursor,
    }


class OverdueAnswers:
    """Closes the sockets of connections with an overdue answer."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Expect no answers. For a forked process, which inherits neither the thread nor connections in use."""
        self._deadlines: dict[int, tuple[float, psycopg2.extensions.connection]] = {}
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    @contextmanager
    def expected(self, connection: psycopg2.extensions.connection, within: float) -> Iterator[None]:
        """Close ``connection`` if the body takes more than ``within`` seconds."""
        key = threading.get_ident()
        with self._lock:
            self._deadlines[key] = (time.monotonic() + within, connection)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="overdue-answers", daemon=True)
                self._thread.start()
        try:
            yield
        finally:
            with self._lock:
                del self._deadlines[key]

    def _run(self) -> None:
        while True:
            time.sleep(CHECK_SECONDS)
            with self._lock:
                now = time.monotonic()
                for deadline, connection in self._deadlines.values():
                    if deadline < now:
                        _shut_down(connection)


def _shut_down(connection: psycopg2.extensions.connection) -> None:
    """Close both directions of a connection's socket, which wakes up the thread that waits for it."""
    with suppress(OSError, psycopg2.InterfaceError), socket.socket(fileno=os.dup(connection.fileno())) as duplicate:
        duplicate.shutdown(socket.SHUT_RDWR)


_overdue = OverdueAnswers()
os.register_at_fork(after_in_child=_overdue.reset)


class TimedConnection(psycopg2.extensions.connection):
    """A connection that waits at most ``ANSWER_SECONDS`` for each answer, or ``long_answer_seconds`` in a transaction
    with long statements."""

    long_answer_seconds: float | None = None

    def allow_long_statements(self, seconds: float) -> None:
        with self.cursor() as cursor:
            cursor.execute("SET LOCAL statement_timeout = %s", (f"{seconds * 1000:.0f}ms",))
        self.long_answer_seconds = seconds + ANSWER_MARGIN_SECONDS

    @property
    def answer_seconds(self) -> float:
        return self.long_answer_seconds or ANSWER_SECONDS

    def commit(self) -> None:
        with _overdue.expected(self, ANSWER_SECONDS):
            super().commit()
        self.long_answer_seconds = None

    def rollback(self) -> None:
        self.long_answer_seconds = None
        with _overdue.expected(self, ANSWER_SECONDS):
            super().rollback()


class TimedCursor(psycopg2.extensions.cursor):
    """A cursor that waits as long as its connection allows; for pings, ``PING_SECONDS``."""

    connection: TimedConnection

    def execute(self, query: Any, vars: Any = None) -> None:  # noqa: A002 - psycopg2's name
        """Execute a statement. The first one of a transaction is sent in one message after the statements that set its
        limits, so these cost no round trip."""
        within = PING_SECONDS if query == PING else self.connection.answer_seconds
        if self._begins_transaction():
            if isinstance(query, str) and self.name is None:
                query = _limit_statements() + query
            else:
                self._set_local()
        with _overdue.expected(self.connection, within):
            super().execute(query, vars)

    def _begins_transaction(self) -> bool:
        connection = self.connection
        return not connection.autocommit and connection.status == psycopg2.extensions.STATUS_READY

    def _set_local(self) -> None:
        """Set the limits in a separate statement."""
        with (
            _overdue.expected(self.connection, ANSWER_SECONDS),
            self.connection.cursor(cursor_factory=psycopg2.extensions.cursor) as cursor,
        ):
            cursor.execute(_limit_statements())

    def executemany(self, query: Any, vars_list: Any) -> None:
        if self._begins_transaction():
            self._set_local()
        with _overdue.expected(self.connection, self.connection.answer_seconds):
            super().executemany(query, vars_list)

    def fetchmany(self, size: int | None = None) -> list[tuple[Any, ...]]:
        """The next rows. A server-side cursor asks the server for them."""
        with _overdue.expected(self.connection, self.connection.answer_seconds):
            return super().fetchmany(size or self.arraysize)

    def copy_expert(self, sql: Any, file: Any, size: int = 8192) -> None:
        if self._begins_transaction():
            self._set_local()
        with _overdue.expected(self.connection, self.connection.answer_seconds):
            super().copy_expert(sql, file, size)
