"""Database engine, sessions and read-only connections.

The edge that opens a session owns its transaction: nothing in ``scorer`` commits.

The connection budget is how many database connections all processes may open, and how many the server has. With too
many processes, one would be refused a connection in the middle of its work, long after the mistake. So every process
compares both numbers when it starts.
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
from sqlalchemy.orm import configure_mappers as configure_mappers  # noqa: PLC0414 - for modules that start a process

from scorer.db.answer_timeouts import PING, TimedConnection, connection_options
from scorer.errors import Unavailable
from scorer.settings import Settings

Sessions = sessionmaker[Session]


class ConnectionLost(Exception):
    """The server ended a connection. It stopped, and may have been replaced by another server."""


class ReadOnlyServer(ConnectionLost):
    """The server takes no writes. After a failover, it is the old server or one that is not promoted yet."""


UNAVAILABLE = (OperationalError, InterfaceError, PoolTimeoutError, ConnectionLost)
"""Errors of a database that is busy or unreachable. The same transaction may succeed a moment later."""
DATABASE_ERROR: type[Exception] = DBAPIError
MAX_SKEW = timedelta(seconds=5)
READ_ONLY = "25006"
"""The code of the error of a server that takes no writes: after a failover, the old server or one not yet promoted."""
REFUSALS = {"42501", READ_ONLY}
"""Codes of errors that only the operator can fix: missing rights, and a read-only server."""
COMMAND_CONNECTIONS = 5
"""Database connections of a command, or of a check at the start of a process."""
CONNECTED_KEY = "connected"
"""Key in ``Session.info`` for whether a session has taken a connection."""
HAS_WRITTEN = text("SELECT pg_current_xact_id_if_assigned() IS NOT NULL")
"""Whether a transaction has written or locked anything. Advisory locks assign no transaction id, so the statements that
take them request one."""
POOL_SECONDS = 10
"""The longest wait for a free connection of the pool."""


def build_engine(settings: Settings, *, max_connections: int = COMMAND_CONNECTIONS, **options: Any) -> Engine:
    """The engine of the service's own role. Times are read and written in UTC."""
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
    """Raise ``ReadOnlyServer`` if the server takes no writes. The connection then counts as lost, so the pool connects
    again, to the new primary."""
    if getattr(context.original_exception, "pgcode", None) == READ_ONLY:
        context.is_disconnect = True
        raise ReadOnlyServer


def build_sessions(engine: Engine, **info: object) -> Sessions:
    """A factory of sessions with objects that stay readable after the commit. ``info`` is each ``Session.info``."""
    sessions = sessionmaker(engine, expire_on_commit=False, info=info)
    event.listen(sessions, "after_begin", _note_connection)
    return sessions


def _note_connection(session: Session, *_: object) -> None:
    session.info[CONNECTED_KEY] = True


def has_connected(session: Session) -> bool:
    """Whether a session of :func:`build_sessions` holds a connection."""
    return CONNECTED_KEY in session.info


def count_changed(session: Session, statement: Executable) -> int:
    """Execute a statement that adds, changes or deletes rows; returns how many."""
    result = session.execute(statement)
    return result.rowcount if isinstance(result, CursorResult) else 0


def end_reading(session: Session) -> bool:
    """Release the connection of a session of :func:`build_sessions` if its transaction has only read.

    Returns whether the session now holds no connection. The next statement begins another transaction.

    A request that holds a connection while it waits for a second one waits forever if all other requests do the same.
    Behind a pooler, all pools of all processes share the server's connections.
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
    """Whether the database was busy or unreachable: one of ``UNAVAILABLE``, or another error that lost a connection."""
    return isinstance(error, UNAVAILABLE) or (isinstance(error, DBAPIError) and error.connection_invalidated)


def unavailability(error: BaseException) -> str:
    """Why the database is unavailable, in one line for logs, without the statement and its parameters."""
    cause = error.__cause__ if isinstance(error, ConnectionLost) and error.__cause__ is not None else error
    return f"the database did not answer: {type(cause).__name__}: {str(cause).strip().partition(chr(10))[0]}"


def refusal(error: BaseException) -> str | None:
    """Why the database is unreachable or refuses an operation, in one line without the statement. None for other
    errors."""
    driver = error.orig if isinstance(error, DBAPIError) else error.__cause__ if is_unavailable(error) else error
    if not isinstance(driver, psycopg2.Error):
        return str(error) if is_unavailable(error) else None
    if not (is_unavailable(error) or isinstance(driver, psycopg2.OperationalError) or driver.pgcode in REFUSALS):
        return None
    return str(driver).strip().partition("\n")[0].rstrip(".")


@contextmanager
def connected(settings: Settings) -> Iterator[Sessions]:
    """Sessions for a command or a check. Closes their connections at the end."""
    engine = build_engine(settings)
    try:
        yield build_sessions(engine)
    finally:
        engine.dispose()


def _is_lost(error: DBAPIError | psycopg2.Error) -> bool:
    """Whether a connection is dead. Requests to the driver that bypass SQLAlchemy, such as for the isolation of a
    snapshot, raise the driver's own error. It has no server's error code, or that of a shutdown (class 57P)."""
    if isinstance(error, DBAPIError):
        return error.connection_invalidated
    is_connections = isinstance(error, psycopg2.OperationalError | psycopg2.InterfaceError)
    return is_connections and (error.pgcode is None or error.pgcode.startswith("57P"))


class Connections:
    """A pool of connections for reading, with its own engine.

    Most reads are one statement, so connections begin no transaction and are not pinged first. A read finds a dead
    connection itself and raises ``ConnectionLost``. All connections of the pool are then closed, so that the next read
    does not get another dead one.
    """

    def __init__(self, settings: Settings, *, max_connections: int) -> None:
        self._engine = build_engine(
            settings, max_connections=max_connections, pool_pre_ping=False, isolation_level="AUTOCOMMIT"
        )

    @contextmanager
    def moment(self) -> Iterator[Connection]:
        """A connection for one statement. It sees everything committed when it begins."""
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
        self._engine.dispose()


def use_one_snapshot(session: Session) -> None:
    """Make this transaction REPEATABLE READ. Call it before the first statement."""
    session.connection(execution_options={"isolation_level": "REPEATABLE READ"})


def allow_long_statements(connection: Connection, seconds: float) -> None:
    """Allow each statement of this transaction more than a minute, for workers that read whole competitions."""
    driver = connection.connection.driver_connection
    if isinstance(driver, TimedConnection):
        driver.allow_long_statements(seconds)


def clock_skew(sessions: Sessions, now: Callable[[], datetime]) -> timedelta:
    """How far the clock ``now`` is ahead of the database's; negative if it is behind."""
    with sessions() as session:
        session.execute(text(PING))  # connect first, because that takes too long for reading a clock
        return skew_in(session, now)


def skew_in(session: Session, now: Callable[[], datetime]) -> timedelta:
    """:func:`clock_skew` for a session that is already connected."""
    before = now()
    server_time: datetime = session.execute(select(func.clock_timestamp())).scalar_one()
    return before + (now() - before) / 2 - server_time


def require_right_clock(sessions: Sessions, now: Callable[[], datetime]) -> None:
    """``Unavailable`` if the clock ``now`` differs from the database's by more than ``MAX_SKEW``. The database's clock
    decides about leases, so deadlines, quotas and the times of measurements would be wrong."""
    skew = clock_skew(sessions, now)
    if abs(skew) > MAX_SKEW:
        direction = "ahead of" if skew > timedelta() else "behind"
        raise Unavailable(
            "wrong-clock",
            f"The clock of this machine is {abs(skew).total_seconds():.0f} s {direction} that of the database. "
            "Synchronise both clocks (NTP) and start again.",
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
"""How many of a web process's connections are for its board cache. They are in a separate pool, because requests that
wait for a board must not use up the connections that read it."""
SPARE_CONNECTIONS = 10
"""For migrations, commands, and the checks of starting processes."""


def max_open_connections(settings: Settings) -> int:
    """The most connections that all processes of the installation may have open at the same time."""
    web = settings.web_processes * settings.web_connections
    workers = settings.worker_processes * settings.worker_connections
    return web + workers + SPARE_CONNECTIONS


def server_connections(sessions: Sessions) -> int:
    """How many connections the server accepts from roles that are not superusers."""
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
            f"{SPARE_CONNECTIONS} for commands may open {wanted} connections, but PostgreSQL accepts only {available}. "
            "Raise its max_connections, or lower KENNEL_WEB_CONNECTIONS, KENNEL_WORKER_CONNECTIONS or the numbers of "
            "processes (KENNEL_WEB_PROCESSES, KENNEL_WORKER_PROCESSES), or use PgBouncer and set "
            "KENNEL_DATABASE_POOLER.",
        )
