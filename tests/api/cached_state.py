"""A state of the service that is slow to reach. It is reached once for a module and copied for each test."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar
from urllib.parse import urlsplit

import pytest
import sqlalchemy
from sqlalchemy import make_url

from deploy.standalone.ephemeral import Servers
from scorer.settings import Settings
from tests.api.conftest import Service, running_service
from tests.conftest import fresh_settings

T = TypeVar("T")


@dataclass(frozen=True)
class CachedState(Generic[T]):
    """A stopped service in this state, and the result of the function that reached it."""

    service: Service
    result: T


def cached_fixtures(reach: Callable[[Service], T]) -> tuple[Any, Any]:
    """Return a module's fixtures: ``cached``, the :class:`CachedState` after ``reach``, and ``service``, a copy for
    each test."""

    @pytest.fixture(scope="module")
    def cached(servers: Servers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[CachedState[T]]:
        with fresh_settings(servers, tmp_path_factory.mktemp("cached")) as settings:
            with running_service(settings) as service:
                result = reach(service)
                service.context.sessions.kw["bind"].dispose()
            yield CachedState(service, result)

    @pytest.fixture
    def service(servers: Servers, tmp_path: Path, cached: CachedState[T]) -> Iterator[Service]:
        with (
            _copied_settings(servers, tmp_path, cached.service.context.settings) as settings,
            running_service(settings) as copied,
        ):
            copied.tokens |= cached.service.tokens
            copied.judges |= cached.service.judges
            yield copied

    return cached, service


@contextmanager
def _copied_settings(servers: Servers, folder: Path, cached: Settings) -> Iterator[Settings]:
    database = str(make_url(cached.database_url.get_secret_value()).database)
    _disconnect(servers, database)
    with fresh_settings(servers, folder, template=database) as settings:
        shutil.copytree(urlsplit(cached.blob_url).path, urlsplit(settings.blob_url).path, dirs_exist_ok=True)
        yield settings


def _disconnect(servers: Servers, database: str) -> None:
    """End all connections to a database, because PostgreSQL cannot copy it otherwise."""
    engine = sqlalchemy.create_engine(servers.postgres.admin_url, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        ended = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = :database"
        connection.execute(sqlalchemy.text(ended), {"database": database})
    engine.dispose()
