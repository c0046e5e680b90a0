"""Time limits on everything that waits for PostgreSQL: connecting, statements, locks, idle transactions, and answers.

Limits and time zone are set by ``SET LOCAL``, with the first statement of each transaction: a pooler in transaction
mode (PgBouncer) gives each transaction another server's connection, and takes no options at the start of one.

The server ends slow statements itself. A server that is silent (frozen, or cut off behind an open connection) cannot,
so a thread of this process closes connections whose answer is overdue: the waiting thread then gets
``OperationalError`` instead of waiting for ever.
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
"""After that long without a statement a transaction is rolled back: its client has frozen or lost its power, and others
wait for its locks."""
ANSWER_MARGIN_SECONDS = 10.0
ANSWER_SECONDS = STATEMENT_SECONDS + ANSWER_MARGIN_SECONDS
"""Longest wait for the answer to a statement: the server would have ended it before."""
PING_SECONDS = 5.0
PING = "SELECT 1"
"""The statement by which SQLAlchemy and readiness checks ask whether the server is there."""
CHECK_SECONDS = 0.5


def _limit_statements() -> str:
    """The statements that set limits and time zone of a transaction."""
    limits = {
        "lock_timeout": LOCK_SECONDS,
        "statement_timeout": STATEMENT_SECONDS,
        "idle_in_transaction_session_timeout": IDLE_TRANSACTION_SECONDS,
    }
    settings = {"timezone": "UTC", **{name: f"{seconds}s" for name, seconds in limits.items()}}
    return "".join(f"SET LOCAL {name} = '{value}'; " for name, value in settings.items())


def connection_options() -> dict[str, Any]:
    """Arguments of ``psycopg2.connect``."""
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
    """Closes the sockets of connections whose answer is overdue."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Expect nothing: a forked process inherits neither the thread nor the connections in use."""
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
    """End both directions of a connection's socket, so that whoever waits for it wakes up."""
    with suppress(OSError, psycopg2.InterfaceError), socket.socket(fileno=os.dup(connection.fileno())) as duplicate:
        duplicate.shutdown(socket.SHUT_RDWR)


_overdue = OverdueAnswers()
os.register_at_fork(after_in_child=_overdue.reset)


class TimedConnection(psycopg2.extensions.connection):
    """A connection that waits for ``ANSWER_SECONDS`` at most for each answer, in a transaction with long statements for
    ``long_answer_seconds``."""

    long_answer_seconds: float | None = None

    def allow_long_statements(self, seconds: float) -> None:
        """Let the statements of this transaction take so many seconds."""
        with self.cursor() as cursor:
            cursor.execute("SET LOCAL statement_timeout = %s", (f"{seconds * 1000:.0f}ms",))
        self.long_answer_seconds = seconds + ANSWER_MARGIN_SECONDS

    @property
    def answer_seconds(self) -> float:
        """The longest wait for an answer."""
        return self.long_answer_seconds or ANSWER_SECONDS

    def commit(self) -> None:
        """Commit."""
        with _overdue.expected(self, ANSWER_SECONDS):
            super().commit()
        self.long_answer_seconds = None

    def rollback(self) -> None:
        """Roll back."""
        self.long_answer_seconds = None
        with _overdue.expected(self, ANSWER_SECONDS):
            super().rollback()


class TimedCursor(psycopg2.extensions.cursor):
    """A cursor whose statements wait as long as their connection allows, pings for ``PING_SECONDS``."""

    connection: TimedConnection

    def execute(self, query: Any, vars: Any = None) -> None:  # noqa: A002 - psycopg2's name
        """Execute a statement, the first one of a transaction after those that set its limits: in one message, so that
        they cost no round trip."""
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
        """Set the limits by a statement of their own."""
        with (
            _overdue.expected(self.connection, ANSWER_SECONDS),
            self.connection.cursor(cursor_factory=psycopg2.extensions.cursor) as cursor,
        ):
            cursor.execute(_limit_statements())

    def executemany(self, query: Any, vars_list: Any) -> None:
        """Execute a statement with each of several parameters."""
        if self._begins_transaction():
            self._set_local()
        with _overdue.expected(self.connection, self.connection.answer_seconds):
            super().executemany(query, vars_list)

    def fetchmany(self, size: int | None = None) -> list[tuple[Any, ...]]:
        """The next rows, which the server is asked for if this is a server-side cursor."""
        with _overdue.expected(self.connection, self.connection.answer_seconds):
            return super().fetchmany(size or self.arraysize)

    def copy_expert(self, sql: Any, file: Any, size: int = 8192) -> None:
        """Copy rows from or to a file."""
        if self._begins_transaction():
            self._set_local()
        with _overdue.expected(self.connection, self.connection.answer_seconds):
            super().copy_expert(sql, file, size)
