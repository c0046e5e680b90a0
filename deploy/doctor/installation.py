"""The installation as checks see it (settings, environment, connections opened on demand), and the type of a check: its
name, test and remedy.

In a container or pod, workers that check, score or compute evidence need no access to other networks. A check that
fails there for lack of access is skipped; on a machine that runs the web process it is a fault.
"""

import shutil
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from redis import Redis

from deploy.standalone.commands import SWEEPING_QUEUES, WEB, WORKER
from scorer.blobs import Blobs, open_blobs
from scorer.db.jobs import worker_reports
from scorer.db.session import Sessions
from scorer.db.tables import WorkerReport
from scorer.settings import Settings

Command = Sequence[str]


def command_lines() -> Iterator[Command]:
    """The command lines of all visible processes; a container sees only its own."""
    for _, command in _processes():
        yield command


def find_web_variable(name: str) -> str | None:
    """The variable ``name`` in the environment of a web process; None if no visible web process has it."""
    for folder, command in _processes():
        if WEB in command:
            with suppress(OSError):
                variables = dict(variable.partition("=")[::2] for variable in _strings(folder / "environ"))
                if name in variables:
                    return variables[name]
    return None


def _processes() -> Iterator[tuple[Path, Command]]:
    """The folder in ``/proc`` and the command line of each process."""
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # the process has ended, or is hidden
            yield folder, _strings(folder / "cmdline")


def _strings(file: Path) -> list[str]:
    return file.read_bytes().decode(errors="replace").rstrip("\0").split("\0")


def only_workers_run(commands: Iterable[Command], *, without: Collection[str] = SWEEPING_QUEUES) -> bool:
    """Whether workers run, but no web process, and no worker takes a queue of ``without`` (mails, webhooks)."""
    workers = False
    for command in commands:
        if WEB in command:
            return False
        if WORKER in command and "worker" in command:
            workers = True
            queues = _queues(command)
            if queues is None or queues & set(without):
                return False
    return workers


def _queues(command: Command) -> set[str] | None:
    """The queues of a worker; None if its command does not name them, so that it may take any."""
    words = list(command)
    if "-Q" not in words[:-1]:
        return None
    return set(words[words.index("-Q") + 1].split(","))


SECONDS = 5.0
"""How long a server may take to respond."""


@dataclass
class Installation:
    """``environ`` is this process's environment; ``secret_files`` adds files to those that variables name."""

    settings: Settings
    sessions: Sessions
    environ: Mapping[str, str]
    secret_files: Sequence[Path] = ()
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    free_bytes: Callable[[Path], int] = field(default=lambda path: shutil.disk_usage(path).free)
    commands: Callable[[], Iterable[Command]] = command_lines
    web_variable: Callable[[str], str | None] = find_web_variable

    @cached_property
    def blobs(self) -> Blobs:
        """The blob store; raises ``Unavailable`` if it cannot be opened."""
        return open_blobs(self.settings)

    @contextmanager
    def queue_server(self) -> Iterator[Any]:
        url = self.settings.redis_url.get_secret_value()
        with Redis.from_url(url, socket_timeout=SECONDS, socket_connect_timeout=SECONDS) as client:
            yield client

    @cached_property
    def workers(self) -> Sequence[WorkerReport]:
        with self.sessions() as session:
            return worker_reports.recent_reports(session)


State = Literal["ok", "wrong", "skipped"]


class Fault(Exception):
    """A fault, as a sentence."""


class Skipped(Exception):
    """The reason why a check does not apply here."""


@dataclass(frozen=True)
class Check:
    """``look`` returns a positive finding, or raises ``Fault`` or ``Skipped``; any other error is also a fault."""

    name: str
    look: Callable[[Installation], str]
    remedy: str
    needs: Sequence[str] = ()
    """The check is skipped unless these checks succeed, so that one cause is not reported several times."""


@dataclass(frozen=True)
class Outcome:
    name: str
    state: State
    finding: str
    remedy: str | None = None
