"""PostgreSQL and Redis in a temporary folder, for the length of a block: for tests."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from deploy.standalone.data_folder import open_data_folder
from deploy.standalone.log import Log
from deploy.standalone.postgres import Postgres
from deploy.standalone.redis import Redis
from deploy.standalone.supervisor import Supervisor

MEMORY = Path("/dev/shm")  # noqa: S108 - a folder of one's own is made in it
MIN_FREE_BYTES = 2 * 1024**3
"""Free space needed in memory, for many small databases at a time."""


class Servers(NamedTuple):
    postgres: Postgres
    redis: Redis


@contextmanager
def ephemeral_servers() -> Iterator[Servers]:
    """Run PostgreSQL and Redis in a temporary folder, without durability or a log.

    Everybody can enter the folder's parent, because the unprivileged account under which root runs the
    servers must reach it. Raises Unavailable if they cannot start.
    """
    folder = Path(tempfile.mkdtemp(prefix="kennel-", dir=_memory_folder()))
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


def _memory_folder() -> Path | None:
    """A folder in memory, where copying a database takes a tenth of the time; None if it lacks the space."""
    usable = MEMORY.is_dir() and os.access(MEMORY, os.W_OK | os.X_OK)
    return MEMORY if usable and shutil.disk_usage(MEMORY).free >= MIN_FREE_BYTES else None
