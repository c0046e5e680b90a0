"""Engine and sessions. The edge that opens a session owns its transaction: nothing in ``scorer`` commits."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from sqlalchemy import Connection as Connection  # noqa: PLC0414 - for those who pass one on
from sqlalchemy import Engine, create_engine, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session, sessionmaker

from scorer.settings import Settings

Sessions = sessionmaker[Session]
T = TypeVar("T")


def engine_of(settings: Settings, *, most: int = 30, **options: Any) -> Engine:
    """The engine of the service's own role, with at most so many connections; every moment is read and written in
    UTC."""
    kept = min(most, 10)
    return create_engine(
        settings.database_url.get_secret_value(),
        pool_size=kept,
        max_overflow=most - kept,
        connect_args={"options": "-c timezone=utc -c lock_timeout=10s", "application_name": "kennel"},
        **{"pool_pre_ping": True, **options},
    )


def sessions_of(engine: Engine, **info: object) -> Sessions:
    """A factory of sessions; objects stay readable after the commit. ``info`` is what every one of them carries."""
    return sessionmaker(engine, expire_on_commit=False, info=info)


class Connections:
    """Connections to read with, of an engine of their own: most reads are one statement, so they begin no transaction
    and are not asked beforehand whether they live."""

    def __init__(self, settings: Settings, *, most: int) -> None:
        self._engine = engine_of(settings, most=most, pool_pre_ping=False, isolation_level="AUTOCOMMIT")

    def ask(self, read: Callable[[Connection], T]) -> T:
        """What ``read`` finds with one statement, which sees what is committed when it begins. On a connection that
        turns out to be dead, the first use tells, and ``read`` is called again."""
        try:
            with self._engine.connect() as connection:
                return read(connection)
        except DBAPIError as error:
            if not error.connection_invalidated:
                raise
        with self._engine.connect() as connection:
            return read(connection)

    @contextmanager
    def snapshot(self) -> Iterator[Connection]:
        """For several statements that see the same moment."""
        with self._engine.connect().execution_options(isolation_level="REPEATABLE READ") as connection:
            yield connection

    def close(self) -> None:
        """End them."""
        self._engine.dispose()


def freeze(session: Session) -> None:
    """Let every statement of this transaction see the same moment. Only at its beginning."""
    session.connection(execution_options={"isolation_level": "REPEATABLE READ"})


def ping(sessions: Sessions) -> None:
    """Raise if the database does not answer."""
    with sessions() as session:
        session.execute(text("SELECT 1"))
