"""Engine and sessions. The edge that opens a session owns its transaction: nothing in ``scorer`` commits."""

from sqlalchemy import Engine, create_engine, text
from sqlalchemy.orm import Session, sessionmaker

from scorer.settings import Settings

Sessions = sessionmaker[Session]


def engine_of(settings: Settings) -> Engine:
    """The engine of the service's own role; every moment is read and written in UTC."""
    return create_engine(
        settings.database_url.get_secret_value(),
        pool_pre_ping=True,
        pool_size=10,
        max_overflow=20,
        connect_args={"options": "-c timezone=utc -c lock_timeout=10s", "application_name": "kennel"},
    )


def sessions_of(engine: Engine) -> Sessions:
    """A factory of sessions; objects stay readable after the commit."""
    return sessionmaker(engine, expire_on_commit=False)


def freeze(session: Session) -> None:
    """Let every statement of this transaction see the same moment. Only at its beginning."""
    session.connection(execution_options={"isolation_level": "REPEATABLE READ"})


def ping(sessions: Sessions) -> None:
    """Raise if the database does not answer."""
    with sessions() as session:
        session.execute(text("SELECT 1"))
