"""Which parts of the service run on this machine, by the command lines of its processes, and with which variables.

Workers that check, score or compute evidence have no way out in a container or a pod, and need none: what they cannot
reach is no fault there, and the same is a fault where the web process runs.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from deploy.standalone.commands import SWEEPING_QUEUES, WEB, WORKER

Command = Sequence[str]


def command_lines() -> Iterator[Command]:
    """Those of all processes that are seen from here: a container sees its own."""
    for _, command in _processes():
        yield command


def variable_of_web_process(name: str) -> str | None:
    """The variable ``name`` in the environment of a web process; None where no process that has it is to be seen."""
    for folder, command in _processes():
        if WEB in command:
            with suppress(OSError):
                variables = dict(each.partition("=")[::2] for each in _strings(folder / "environ"))
                if name in variables:
                    return variables[name]
    return None


def _processes() -> Iterator[tuple[Path, Command]]:
    """The folder in ``/proc`` and the command line of each process."""
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended, or is hidden
            yield folder, _strings(folder / "cmdline")


def _strings(file: Path) -> list[str]:
    return file.read_bytes().decode(errors="replace").rstrip("\0").split("\0")


def only_workers_run(commands: Iterable[Command], *, without: Collection[str] = SWEEPING_QUEUES) -> bool:
    """Whether workers run, none of them takes a queue of ``without`` (those of mails and webhooks), and no web process
    runs."""
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
