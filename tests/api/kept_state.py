"""A state of the service that is slow to reach: reached once for a module, and copied for each of its tests."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar
from urllib.parse import urlsplit

import sqlalchemy
from sqlalchemy import make_url

from deploy.standalone.ephemeral import Servers
from scorer.settings import Settings
from tests.api.conftest import Service, running_service
from tests.conftest import fresh_settings

T = TypeVar("T")


@dataclass(frozen=True)
class KeptState(Generic[T]):
    """Settings of the service that is in this state, and what reaching it returned."""

    settings: Settings
    result: T


@contextmanager
def kept_state(servers: Servers, folder: Path, reach: Callable[[Service], T]) -> Iterator[KeptState[T]]:
    """The state that ``reach`` leaves behind. Nothing is connected to it."""
    with fresh_settings(servers, folder) as settings:
        with running_service(settings) as service:
            result = reach(service)
            service.context.sessions.kw["bind"].dispose()
        yield KeptState(settings, result)


@contextmanager
def copied_settings(servers: Servers, folder: Path, kept: KeptState[T]) -> Iterator[Settings]:
    """Settings of a new service that begins in this state."""
    database = str(make_url(kept.settings.database_url.get_secret_value()).database)
    _disconnect(servers, database)
    with fresh_settings(servers, folder, template=database) as settings:
        shutil.copytree(urlsplit(kept.settings.blob_url).path, urlsplit(settings.blob_url).path, dirs_exist_ok=True)
        yield settings


def _disconnect(servers: Servers, database: str) -> None:
    """End what is still connected, by which a database can't be copied."""
    engine = sqlalchemy.create_engine(servers.postgres.admin_url, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        ended = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = :database"
        connection.execute(sqlalchemy.text(ended), {"database": database})
    engine.dispose()
