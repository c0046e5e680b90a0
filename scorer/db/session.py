"""Database engine, sessions and read-only connections.

The edge that opens a session owns its transaction: nothing in ``scorer`` commits.

The connection budget is how many database connections all processes may open, and how many the server has. One process
too many would be refused in the middle of its work, long after the mistake was made; so every process compares both
when it starts.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any

import psycopg2
from sqlalchemy import Connection as Connection  # noqa: PLC0414 - a type for callers
from sqlalchemy import CursorResult, Engine, ExceptionContext, Executable, create_engine, event, func, select, text
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.orm import Session, sessionmaker
from sqlalchemy.orm import configure_mappers as configure_mappers  # noqa: PLC0414 - for what starts a process

from scorer.db.answer_timeouts import PING, TimedConnection, connection_options
from scorer.errors import Unavailable
from scorer.settings import Settings

Sessions = sessionmaker[Session]


class ConnectionLost(Exception):
    """The server has ended a connection: it stopped, and may have been replaced by another server."""


class ReadOnlyServer(ConnectionLost):
    """The server takes no writes: after a failover, it is the old one or one that is not promoted yet."""


UNAVAILABLE = (OperationalError, InterfaceError, PoolTimeoutError, ConnectionLost)
"""Errors of a database that is busy or away: the same transaction may succeed a moment later."""
DATABASE_ERROR: type[Exception] = DBAPIError
"""Any error that the database's driver raises."""
MAX_SKEW = timedelta(seconds=5)
READ_ONLY = "25006"
"""Code of the error of a server that takes no writes: after a failover, the old server or one not yet promoted."""
REFUSALS = {"42501", READ_ONLY}
"""Codes of errors that only the operator can end: missing rights, and a server that is read-only."""
COMMAND_CONNECTIONS = 5
"""Database connections of a command, or of a check at the start of a process."""
CONNECTED_KEY = "connected"
"""Where a session keeps that it has taken a connection."""
HAS_WRITTEN = text("SELECT pg_current_xact_id_if_assigned() IS NOT NULL")
"""Whether a transaction has written or locked anything. Advisory locks assign no transaction id by themselves, so the
statements that take them ask for one."""
POOL_SECONDS = 10
"""Longest wait for a free connection of the pool."""


def engine_of(settings: Settings, *, max_connections: int = COMMAND_CONNECTIONS, **options: Any) -> Engine:
    """The engine of the service's own role, with a pool of at most ``max_connections``; times are read and written in
    UTC."""
    pool_size = min(max_connections, 10)
    engine = create_engine(
        settings.database_url.get_secret_value(),
        pool_size=pool_size,
        max_overflow=max_connections - pool_size,
        pool_timeout=POOL_SECONDS,
        connect_args={**connection_options(), "application_name": "kennel"},
        **{"pool_pre_ping": True, **options},
    )
    event.listen(engine, "handle_error", _leave_read_only_server)
    return engine


def _leave_read_only_server(context: ExceptionContext) -> None:
    """Raise ``ReadOnlyServer`` where the server takes no writes. The connection counts as lost, so that the pool
    connects again, to the new primary."""
    if getattr(context.original_exception, "pgcode", None) == READ_ONLY:
        context.is_disconnect = True
        raise ReadOnlyServer


def sessions_of(engine: Engine, **info: object) -> Sessions:
    """A factory of sessions, whose objects stay readable after the commit. ``info``: the ``Session.info`` of each."""
    sessions = sessionmaker(engine, expire_on_commit=False, info=info)
    event.listen(sessions, "after_begin", _note_connection)
    return sessions


def _note_connection(session: Session, *_: object) -> None:
    session.info[CONNECTED_KEY] = True


def has_connected(session: Session) -> bool:
    """Whether a session of :func:`sessions_of` has taken a connection, and not given it back."""
    return CONNECTED_KEY in session.info


def count_changed(session: Session, statement: Executable) -> int:
    """Execute a statement that adds, changes or deletes rows; returns how many."""
    result = session.execute(statement)
    return result.rowcount if isinstance(result, CursorResult) else 0


def end_reading(session: Session) -> bool:
    """Give the connection of a session of :func:`sessions_of` back if its transaction has only read; whether the
    session now holds none. The next statement begins another transaction.

    A request that waits for a second connection while it holds one waits forever if all other requests do the same:
    behind a pooler, all pools of all processes share the server's connections.
    """
    if not has_connected(session):
        return True
    if session.in_nested_transaction() or session.new or session.dirty or session.deleted:
        return False
    if session.scalar(HAS_WRITTEN):
        return False
    session.commit()
    del session.info[CONNECTED_KEY]
    return True


def is_unavailable(error: BaseException) -> bool:
    """Whether the database was busy or away: one of ``UNAVAILABLE``, or another error that lost a connection."""
    return isinstance(error, UNAVAILABLE) or (isinstance(error, DBAPIError) and error.connection_invalidated)


def unavailability(error: BaseException) -> str:
    """Why the database is unavailable, in one line for logs, by one of ``UNAVAILABLE``: without the statement and its
    parameters."""
    cause = error.__cause__ if isinstance(error, ConnectionLost) and error.__cause__ is not None else error
    return f"the database did not answer: {type(cause).__name__}: {str(cause).strip().partition(chr(10))[0]}"


def refusal(error: BaseException) -> str | None:
    """Why the database is away, refuses, or does not allow what is tried, in one line without the statement; None for
    other errors."""
    driver = error.orig if isinstance(error, DBAPIError) else error.__cause__ if is_unavailable(error) else error
    if not isinstance(driver, psycopg2.Error):
        return str(error) if is_unavailable(error) else None
    if not (is_unavailable(error) or isinstance(driver, psycopg2.OperationalError) or driver.pgcode in REFUSALS):
        return None
    return str(driver).strip().partition("\n")[0].rstrip(".")


@contextmanager
def connected(settings: Settings) -> Iterator[Sessions]:
    """Sessions for a command or a check, whose connections are closed at the end."""
    engine = engine_of(settings)
    try:
        yield sessions_of(engine)
    finally:
        engine.dispose()


def _is_lost(error: DBAPIError | psycopg2.Error) -> bool:
    """Whether a connection is dead. What the driver is asked for past SQLAlchemy, such as the isolation of a snapshot,
    raises the driver's own error: without a code of the server's, or with that of its shutdown (class 57P)."""
    if isinstance(error, DBAPIError):
        return error.connection_invalidated
    is_connections = isinstance(error, psycopg2.OperationalError | psycopg2.InterfaceError)
    return is_connections and (error.pgcode is None or error.pgcode.startswith("57P"))


class Connections:
    """A pool of connections for reading, with an engine of its own.

    Most reads are one statement, so connections begin no transaction and are not pinged beforehand: the read itself
    finds a dead connection and raises ``ConnectionLost``. Then all of the pool are closed, so that the next read does
    not find another one.
    """

    def __init__(self, settings: Settings, *, max_connections: int) -> None:
        self._engine = engine_of(
            settings, max_connections=max_connections, pool_pre_ping=False, isolation_level="AUTOCOMMIT"
        )

    @contextmanager
    def moment(self) -> Iterator[Connection]:
        """A connection for one statement, which sees what is committed when it begins."""
        with self._connected() as connection:
            yield connection

    @contextmanager
    def snapshot(self) -> Iterator[Connection]:
        """A connection for several statements that see the same snapshot of the database (REPEATABLE READ)."""
        with self._connected() as connection:
            yield connection.execution_options(isolation_level="REPEATABLE READ")

    @contextmanager
    def _connected(self) -> Iterator[Connection]:
        try:
            with self._engine.connect() as connection:
                yield connection
        except (DBAPIError, psycopg2.Error) as error:
            if not _is_lost(error):
                raise
            self._engine.dispose()
            raise ConnectionLost from error

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()


def use_one_snapshot(session: Session) -> None:
    """Let every statement of this transaction see the same snapshot (REPEATABLE READ). Call it before any other."""
    session.connection(execution_options={"isolation_level": "REPEATABLE READ"})


def allow_long_statements(connection: Connection, seconds: float) -> None:
    """Let each statement of this transaction take so many seconds, not a minute: for workers that read whole
    competitions."""
    driver = connection.connection.driver_connection
    if isinstance(driver, TimedConnection):
        driver.allow_long_statements(seconds)


def clock_skew(sessions: Sessions, now: Callable[[], datetime]) -> timedelta:
    """How far the clock ``now`` is ahead of the database's; negative where it is behind."""
    with sessions() as session:
        session.execute(text(PING))  # connecting takes longer than a reading of the clock may
        return skew_in(session, now)


def skew_in(session: Session, now: Callable[[], datetime]) -> timedelta:
    """``clock_skew``, by a session that is connected."""
    before = now()
    theirs: datetime = session.execute(select(func.clock_timestamp())).scalar_one()
    return before + (now() - before) / 2 - theirs


def require_right_clock(sessions: Sessions, now: Callable[[], datetime]) -> None:
    """``Unavailable`` if the clock ``now`` is more than ``MAX_SKEW`` from the database's, which decides about leases:
    deadlines, quotas and the times of measurements would be wrong."""
    skew = clock_skew(sessions, now)
    if abs(skew) > MAX_SKEW:
        direction = "ahead of" if skew > timedelta() else "behind"
        raise Unavailable(
            "wrong-clock",
            f"The clock of this machine is {abs(skew).total_seconds():.0f} s {direction} that of the database. "
            "Synchronise both (NTP) and start again.",
        )


def ping(sessions: Sessions) -> None:
    """Raise if the database does not answer within a few seconds."""
    with sessions() as session:
        session.execute(text(PING))


def require_writable(sessions: Sessions) -> None:
    """Raise if the database does not answer within a few seconds, or takes no writes."""
    with sessions() as session:
        session.execute(text(PING))
        if session.execute(text("SHOW transaction_read_only")).scalar_one() == "on":
            raise ReadOnlyServer


BOARD_CONNECTIONS = 4
"""Of a web process's connections, those of its board cache, which has a pool of its own: requests that wait for a board
must not use up the connections with which it is read."""
SPARE_CONNECTIONS = 10
"""For migrations, commands, and the checks of processes that start."""


def max_open_connections(settings: Settings) -> int:
    """The most connections that all processes of the installation may have open at once."""
    web = settings.web_processes * settings.web_connections
    workers = settings.worker_processes * settings.worker_connections
    return web + workers + SPARE_CONNECTIONS


def server_connections(sessions: Sessions) -> int:
    """How many connections the server takes from roles that are no superusers."""
    with sessions() as session:
        query = (
            "SELECT current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int"
        )
        return int(session.execute(text(query)).scalar_one())


def require_connections(sessions: Sessions, settings: Settings) -> None:
    """``Unavailable`` if all processes together may open more connections than the server has."""
    if settings.database_pooler:
        return
    wanted, available = max_open_connections(settings), server_connections(sessions)
    if wanted > available:
        raise Unavailable(
            "too-many-connections",
            f"{settings.web_processes} web processes with {settings.web_connections} database connections each, "
            f"{settings.worker_processes} worker processes with {settings.worker_connections} each and "
            f"{SPARE_CONNECTIONS} for commands may open {wanted} connections, and PostgreSQL takes {available}. Raise "
            "its max_connections, lower KENNEL_WEB_CONNECTIONS, KENNEL_WORKER_CONNECTIONS or the numbers of processes "
            "(KENNEL_WEB_PROCESSES, KENNEL_WORKER_PROCESSES), or put PgBouncer between and set KENNEL_DATABASE_POOLER.",
        )
