"""Engine and sessions. The edge that opens a session owns its transaction: nothing in ``scorer`` commits."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection as Connection  # noqa: PLC0414 - for those who pass one on
from sqlalchemy import Engine, create_engine, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session, sessionmaker

from scorer.settings import Settings

Sessions = sessionmaker[Session]


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


class ConnectionLost(Exception):
    """The server has ended a connection: it went away, and may come back as another one."""


@contextmanager
def _detecting_lost_connection() -> Iterator[None]:
    try:
        yield
    except DBAPIError as error:
        if error.connection_invalidated:
            raise ConnectionLost from error
        raise


class Connections:
    """Connections to read with, of an engine of their own: most reads are one statement, so they begin no transaction
    and are not asked beforehand whether they live: the first use tells."""

    def __init__(self, settings: Settings, *, most: int) -> None:
        self._engine = engine_of(settings, most=most, pool_pre_ping=False, isolation_level="AUTOCOMMIT")

    @contextmanager
    def moment(self) -> Iterator[Connection]:
        """For one statement, which sees what is committed when it begins. ``ConnectionLost`` if it is found dead."""
        with _detecting_lost_connection(), self._engine.connect() as connection:
            yield connection

    @contextmanager
    def snapshot(self) -> Iterator[Connection]:
        """For several statements that see the same moment. ``ConnectionLost`` if it is found dead."""
        with _detecting_lost_connection(), self._engine.connect() as connection:
            yield connection.execution_options(isolation_level="REPEATABLE READ")

    def close(self) -> None:
        """End them."""
        self._engine.dispose()


def use_one_snapshot(session: Session) -> None:
    """Let every statement of this transaction see the same moment. Only at its beginning."""
    session.connection(execution_options={"isolation_level": "REPEATABLE READ"})


def ping(sessions: Sessions) -> None:
    """Raise if the database does not answer."""
    with sessions() as session:
        session.execute(text("SELECT 1"))
