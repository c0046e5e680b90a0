"""The installation as checks see it: settings, environment and connections, opened when the first check needs them."""

import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from redis import Redis

from deploy.doctor.local_parts import Command, command_lines, only_workers_run, variable_of_web_process
from scorer.blobs import Blobs, blobs_of
from scorer.db.jobs import worker_reports
from scorer.db.session import Sessions
from scorer.db.tables import WorkerReport
from scorer.settings import Settings

SECONDS = 5.0
"""How long a server may take to answer."""


@dataclass
class Installation:
    """Settings and connections. ``environ``: this process's environment. ``secret_files``: files with secrets besides
    those that variables name."""

    settings: Settings
    sessions: Sessions
    environ: Mapping[str, str]
    secret_files: Sequence[Path] = ()
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    free_bytes: Callable[[Path], int] = field(default=lambda path: shutil.disk_usage(path).free)
    commands: Callable[[], Iterable[Command]] = command_lines
    web_variable: Callable[[str], str | None] = variable_of_web_process

    @cached_property
    def blobs(self) -> Blobs:
        """The blob store; ``Unavailable`` if it cannot be opened."""
        return blobs_of(self.settings)

    @property
    def has_only_inner_workers(self) -> bool:
        """Whether what runs on this machine needs no way out of the service's own network."""
        return only_workers_run(self.commands())

    @contextmanager
    def queue_server(self) -> Iterator[Any]:
        """A client of the queue server."""
        url = self.settings.redis_url.get_secret_value()
        with Redis.from_url(url, socket_timeout=SECONDS, socket_connect_timeout=SECONDS) as client:
            yield client

    @cached_property
    def workers(self) -> Sequence[WorkerReport]:
        """What running workers report of themselves."""
        with self.sessions() as session:
            return worker_reports.fresh_reports(session)
