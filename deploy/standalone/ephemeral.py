"""Real servers for tests, for as long as a block lasts."""

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
ROOM = 2 * 1024**3
"""Bytes that a folder in memory needs: many small databases at a time."""


class Servers(NamedTuple):
    """A PostgreSQL and a Redis that run."""

    postgres: Postgres
    redis: Redis


@contextmanager
def ephemeral_servers() -> Iterator[Servers]:
    """Run PostgreSQL and Redis in a temporary folder, with no care for power cuts; silent.

    The folder is made here, directly in one that is open to everybody, because as root the servers'
    unprivileged account must reach it. Raises Unavailable when they cannot start.
    """
    folder = Path(tempfile.mkdtemp(prefix="kennel-", dir=_memory()))
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


def _memory() -> Path | None:
    """Where files are kept in memory, if there is room: copying a database costs a tenth there. None: the system's
    temporary folder."""
    usable = MEMORY.is_dir() and os.access(MEMORY, os.W_OK | os.X_OK)
    return MEMORY if usable and shutil.disk_usage(MEMORY).free >= ROOM else None
