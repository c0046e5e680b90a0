"""Real servers for tests, for as long as a block lasts."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from deploy.standalone.data import open_data_folder
from deploy.standalone.log import Log
from deploy.standalone.postgres import Postgres
from deploy.standalone.processes import Supervisor
from deploy.standalone.redis import Redis


class Servers(NamedTuple):
    """A PostgreSQL and a Redis that run."""

    postgres: Postgres
    redis: Redis


@contextmanager
def ephemeral_servers() -> Iterator[Servers]:
    """Run PostgreSQL and Redis in a temporary folder, with no care for power cuts; silent.

    The folder is made here, directly in the system's temporary one, because as root the servers'
    unprivileged account must reach it. Raises Unavailable when they cannot start.
    """
    folder = Path(tempfile.mkdtemp(prefix="kennel-"))
    try:
        with (
            open_data_folder(folder) as data,
            Supervisor(Log(None), hold=[data.lock]) as supervisor,
        ):
            servers = Servers(Postgres(data, durable=False), Redis(data, durable=False))
            servers.redis.start(supervisor)
            servers.postgres.start(supervisor)
            yield servers
    finally:
        shutil.rmtree(folder)
