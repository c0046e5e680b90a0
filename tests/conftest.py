"""Starts a real PostgreSQL and Redis once per run, for all tests that need them."""

import gc
import secrets
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import hypothesis
import pytest
import sqlalchemy
from redis import Redis
from sqlalchemy import Engine, make_url
from sqlalchemy.dialects.postgresql.psycopg2 import PGDialect_psycopg2
from sqlalchemy.orm import Session
from sqlalchemy.util import LRUCache

import migrations
from deploy.standalone.database_roles import APP, OWNER
from deploy.standalone.ephemeral import Servers, ephemeral_servers
from scorer.db import session as db_session
from scorer.settings import Settings
from tests import examples
from tests.ci.skips import pytest_collection_modifyitems, pytest_sessionfinish, pytest_terminal_summary
from tests.people import DRAW_KEY, create_people

TEMPLATE, TEMPLATE_WITH_PEOPLE = "template_kennel", "template_people"
DAY_ENDS_SECONDS = 60.0
LOOPBACK = ("127.", "::1", "localhost")

# pytest finds these hooks here.
__all__ = ["pytest_collection_modifyitems", "pytest_sessionfinish", "pytest_terminal_summary"]

hypothesis.settings.load_profile(examples.EVERYDAY)  # unless the command line names another
gc.disable()  # until all modules are imported, because imports create no garbage


def pytest_collection_finish() -> None:
    """Start to collect garbage, but only among new objects.

    Scanning the objects of torch, SQLAlchemy and 3,000 tests takes a quarter of a second.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 10, 10)
    gc.enable()


@pytest.fixture(autouse=True, scope="session")
def no_network() -> Iterator[None]:
    """Forbid connections from this process to other machines."""
    connect = socket.socket.connect

    def connect_here(self: socket.socket, address: Any) -> None:
        if self.family in {socket.AF_INET, socket.AF_INET6} and not str(address[0]).startswith(LOOPBACK):
            raise AssertionError(f"a test tried to connect to {address}")
        connect(self, address)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", connect_here)
        yield


@pytest.fixture(autouse=True, scope="session")
def compiled_statements() -> Iterator[None]:
    """Share compiled SQL statements between the tests' services, as one long-running service does.

    A compiled statement depends on the dialect, not on the database.
    """
    create = sqlalchemy.create_engine
    cache = LRUCache[Any, Any](10_000)

    def create_engine(*args: Any, **options: Any) -> Engine:
        engine = create(*args, **options)
        engine._compiled_cache = cache
        return engine

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PGDialect_psycopg2, "__eq__", lambda self, other: type(self) is type(other))
        patch.setattr(PGDialect_psycopg2, "__hash__", lambda self: hash(type(self)))
        patch.setattr(db_session, "create_engine", create_engine)
        yield


@pytest.fixture(scope="session")
def servers() -> Iterator[Servers]:
    """PostgreSQL with every migration applied, and Redis."""
    with ephemeral_servers() as running:
        _hash_passwords_cheaply(running)
        migrations.upgrade(running.postgres.owner_url, APP)
        for template in (TEMPLATE, TEMPLATE_WITH_PEOPLE):
            _as_admin(running, f"CREATE DATABASE {template} TEMPLATE kennel")
        engine = sqlalchemy.create_engine(_database_url(running, TEMPLATE_WITH_PEOPLE))
        with Session(engine) as session, session.begin():
            create_people(session)
        engine.dispose()
        yield running
        _admin_engine(running.postgres.admin_url).dispose()


def _hash_passwords_cheaply(servers: Servers) -> None:
    """A client hashes its password as many times as the server asks for, by default 4,096 times."""
    for url in map(make_url, (servers.postgres.admin_url, servers.postgres.owner_url, servers.postgres.app_url)):
        _as_admin(servers, f"SET scram_iterations = 1; ALTER ROLE {url.username} PASSWORD '{url.password}'")


def _as_admin(servers: Servers, statement: str) -> None:
    with _admin_engine(servers.postgres.admin_url).connect() as connection:
        connection.exec_driver_sql(statement)


@cache
def _admin_engine(url: str) -> Engine:
    """Cached because most tests create and drop a database."""
    return sqlalchemy.create_engine(url, isolation_level="AUTOCOMMIT")


def _database_url(servers: Servers, database: str) -> str:
    return make_url(servers.postgres.app_url).set(database=database).render_as_string(hide_password=False)


@pytest.fixture(scope="session")
def engine(servers: Servers) -> Iterator[Engine]:
    """An engine with the service's own database role."""
    engine = sqlalchemy.create_engine(servers.postgres.app_url, connect_args={"options": "-c timezone=utc"})
    yield engine
    engine.dispose()


@pytest.fixture
def session(engine: Engine) -> Iterator[Session]:
    """A session that is rolled back at the end. Savepoints in it behave like separate transactions."""
    with engine.connect() as connection, connection.begin() as outer:
        with Session(connection, join_transaction_mode="create_savepoint", expire_on_commit=False) as session:
            yield session
        outer.rollback()


@contextmanager
def fresh_settings(servers: Servers, folder: Path, template: str = TEMPLATE_WITH_PEOPLE) -> Iterator[Settings]:
    """Settings for a new service: a database from the template, an empty Redis and a blob folder."""
    name = f"t_{secrets.token_hex(6)}"
    _as_admin(servers, f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY FILE_COPY")
    with Redis.from_url(servers.redis.url) as redis:
        redis.flushdb()
    yield Settings(
        database_url=_database_url(servers, name),
        redis_url=servers.redis.url,
        blob_url=(folder / "blobs").as_uri(),
        scratch=folder / "scratch",
        draw_key=DRAW_KEY,
        lease_seconds=5,
        sweep_seconds=1,
        decoding_processes=0,  # starting one takes a quarter of a second; the decoding tests use them
    )
    _as_admin(servers, f"DROP DATABASE {name} WITH (FORCE)")


@contextmanager
def empty_database(servers: Servers) -> Iterator[tuple[str, str]]:
    """A database without tables. Yields its URLs for the service and for the tables' owner."""
    name = f"r_{secrets.token_hex(6)}"
    _as_admin(servers, f"CREATE DATABASE {name} OWNER {OWNER}")
    yield tuple(  # type: ignore[misc]
        make_url(url).set(database=name).render_as_string(hide_password=False)
        for url in (servers.postgres.app_url, servers.postgres.owner_url)
    )
    _as_admin(servers, f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def settings(servers: Servers, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Settings]:
    """Settings for this test's new service. Its database has accounts if the test uses ``service``."""
    template = TEMPLATE_WITH_PEOPLE if "service" in request.fixturenames else TEMPLATE
    with fresh_settings(servers, tmp_path, template) as own:
        yield own


def addresses(settings: Settings) -> dict[str, str]:
    """The environment variables for a service's database, queue server, blobs and scratch folder."""
    return {
        "DATABASE_URL": settings.database_url.get_secret_value(),
        "REDIS_URL": settings.redis_url.get_secret_value(),
        "BLOB_URL": settings.blob_url,
        "KENNEL_SCRATCH": str(settings.scratch),
    }


@pytest.fixture
def one_day() -> None:
    """Wait for the next UTC day if the current one ends within a minute. For tests of daily limits."""
    moment = datetime.now(UTC)
    left = (moment.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1) - moment).total_seconds()
    if left < DAY_ENDS_SECONDS:
        time.sleep(left + 0.1)


@pytest.fixture
def now() -> datetime:
    """A fixed moment."""
    return datetime(2026, 3, 14, 12, 0, tzinfo=UTC)
