"""A service full of canaries that can be restored to its first state."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from fastapi import FastAPI
from fastapi.testclient import TestClient
from sqlalchemy import Connection, Engine, create_engine, make_url, text
from sqlalchemy.orm import Session, sessionmaker

from api.http import dependencies
from api.http.rate_limits import RATE_LIMITS
from api.main import create_app
from deploy.standalone.ephemeral import Servers
from scorer.db.session import engine_of
from scorer.settings import Settings
from tests.conftest import TEMPLATE
from tests.privacy import canaries
from tests.privacy.canaries import Canaries

NAME, KEPT = "leaks", "leaks_kept"
NOW = datetime(2026, 3, 14, 12, 0, tzinfo=UTC)


@dataclass
class Environment:
    """The application with its canaries, and the means to restore its database."""

    servers: Servers
    settings: Settings
    app: FastAPI
    http: TestClient
    planted: Canaries
    blobs: Path

    @contextmanager
    def rewriting(self) -> Iterator[Session]:
        """A transaction that may change everything, even history; the environment is restored afterwards."""
        try:
            with _owning(self.servers) as session:
                yield session
        except BaseException:
            self.restore()
            raise

    def restore(self) -> None:
        """Restore the database and the blobs."""
        self._engine.dispose()
        _statements(
            self.servers,
            f"DROP DATABASE {NAME} WITH (FORCE)",
            f"CREATE DATABASE {NAME} TEMPLATE {KEPT} STRATEGY FILE_COPY",
        )
        self._restore_blobs()

    @contextmanager
    def undone(self) -> Iterator[Connection]:
        """Undo all changes of requests in this block: they run within one transaction, in savepoints. Its connection
        sees them."""
        usual = self.app.state.sessions
        with self._engine.connect() as connection, connection.begin() as outer:
            self.app.state.sessions = sessionmaker(
                connection, join_transaction_mode="create_savepoint", expire_on_commit=False
            )
            try:
                yield connection
            finally:
                self.app.state.sessions = usual
                outer.rollback()
                self._restore_blobs()

    def _restore_blobs(self) -> None:
        kept = self.blobs.with_name("kept")
        if _files_in(self.blobs) != _files_in(kept):
            shutil.rmtree(self.blobs)
            shutil.copytree(kept, self.blobs)

    @property
    def _engine(self) -> Engine:
        bound = self.app.state.sessions.kw["bind"]
        assert isinstance(bound, Engine)
        return bound


def _files_in(folder: Path) -> dict[Path, tuple[int, int]]:
    """The size and the time of the last change of every file by its path, and folders by theirs alone: those of a copy
    were changed when they were filled."""

    def state(path: Path) -> tuple[int, int]:
        status = path.stat()
        return (0, 0) if path.is_dir() else (status.st_size, status.st_mtime_ns)

    return {path.relative_to(folder): state(path) for path in folder.rglob("*")}


@contextmanager
def planted_environment(servers: Servers, folder: Path, *, template: str = TEMPLATE) -> Iterator[Environment]:
    """A new environment with every clock at ``NOW``. ``template``: a database with the tables."""
    blobs = folder / "blobs"
    blobs.mkdir()
    _statements(servers, f"CREATE DATABASE {NAME} TEMPLATE {template} STRATEGY FILE_COPY")
    url = make_url(servers.postgres.app_url).set(database=NAME)
    settings = Settings(
        database_url=url.render_as_string(hide_password=False),
        redis_url=servers.redis.url,
        blob_url=blobs.as_uri(),
        scratch=folder / "scratch",
        rates=dict.fromkeys(RATE_LIMITS, "1000000/minute"),
    )
    try:
        with _owning(servers) as session:
            planted = canaries.plant_canaries(session, settings, NOW)
        _statements(servers, f"CREATE DATABASE {KEPT} TEMPLATE {NAME} STRATEGY FILE_COPY")
        shutil.copytree(blobs, blobs.with_name("kept"))
        app = create_app(settings)
        app.dependency_overrides[dependencies.request_time] = lambda: NOW
        with TestClient(app, raise_server_exceptions=False, follow_redirects=False) as http:
            yield Environment(servers, settings, app, http, planted, blobs)
    finally:
        engine_of(settings).dispose()
        _statements(servers, *(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)" for name in (NAME, KEPT)))


@contextmanager
def _owning(servers: Servers) -> Iterator[Session]:
    """A transaction of the tables' owner, committed at the end."""
    url = make_url(servers.postgres.owner_url).set(database=NAME)
    engine = create_engine(url, connect_args={"options": "-c timezone=utc"})
    with Session(engine, expire_on_commit=False) as session, session.begin():
        yield session
    engine.dispose()


def _statements(servers: Servers, *statements: str) -> None:
    engine = create_engine(servers.postgres.admin_url, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        for each in statements:
            connection.execute(text(each))
    engine.dispose()
