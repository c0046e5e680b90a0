"""The preloaded process imports the service's modules once; the parts start as forks of it.

Importing takes each part seconds of processor time and 100 MB; forks share both. The process runs under the
unprivileged account of the parts. It has the environment in which Kennel was started, without the database owner's
address; the runner sends each part its own. It ends when all parts have started: a part that restarts later imports its
modules itself.

``python -m deploy.standalone.preload PREPARED DESCRIPTOR RUNNER PADDING`` starts it. The arguments are the modules
to prepare, its connection to the runner, the runner's process ID, and padding.
"""

import ctypes
import gc
import json
import os
import runpy
import shutil
import socket
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from deploy.standalone.child_process import Child, ChildProcess, ForkedPart, installation
from deploy.standalone.data_folder import METRICS, SCRATCH, DataFolder
from deploy.standalone.launch import PR_SET_PDEATHSIG
from deploy.standalone.log import RUNNER, Log
from scorer.confinement.import_path import IMPORT_PATH
from scorer.errors import Unavailable
from scorer.monitoring import FOLDER_VARIABLE

PREPARED = (
    *("api.main", "api.http.server_protocol", "uvicorn.server", "celery.bin.celery", "celery.apps.worker"),
    *("scorer.db.session:configure_mappers", "migrations:newest_revision"),
)
"""Modules of the web process, which include most of the workers' modules, and Celery; and functions to call, which
cache their results. No module of ``worker``: on import, some create memory that one worker's processes share.
"""
OWNER_PREFIX = "DATABASE_OWNER_"
"""Prefix of the variables that only the migration may have."""
PADDING = "-" * 1000
"""Room for a part's command line, which replaces this process's own."""
PR_SET_CHILD_SUBREAPER = 36  # from Linux's <sys/prctl.h>
START_SECONDS = 120.0
ADOPTION_SECONDS = 10.0


def preloading(data: DataFolder, environ: Mapping[str, str]) -> Child:
    """The preloaded process for the parts of ``data``."""
    shutil.rmtree(data.path / METRICS, ignore_errors=True)  # all parts collect their metrics there, starting from zero
    environment = {name: value for name, value in environ.items() if not name.startswith(OWNER_PREFIX)}
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, (IMPORT_PATH, environ.get("PYTHONPATH"))))
    environment[FOLDER_VARIABLE] = str(data.private_folder(METRICS))  # the library reads it on import
    if data.account is not None:
        environment["HOME"] = str(data.private_folder(SCRATCH))
    weights = environ.get("KENNEL_WEIGHTS_DIR")
    return Child(
        RUNNER,
        [sys.executable, "-m", __name__, ",".join(PREPARED)],
        env=environment,
        cwd=Path("/"),
        user=data.account,
        reached=installation(Path(weights).absolute() if weights else None),
    )


class PreloadedProcess:
    """The runner's end of the preloaded process. Forks become children of the runner, which adopts orphaned processes
    below it until ``close``.
    """

    def __init__(self, child: Child, log: Log) -> None:
        self._connection, other = socket.socketpair()
        self._connection.settimeout(START_SECONDS)
        _adopt_orphans(adopt=True)
        with other:
            argv = [*child.argv, str(other.fileno()), str(os.getpid()), PADDING]
            self.process = ChildProcess(replace(child, argv=argv, files=[other.fileno()]), log)

    def fork(self, child: Child) -> ForkedPart:
        """Start ``child`` as a fork. Raises ``Unavailable`` if the process has failed."""
        part = {"argv": [*map(str, child.argv)], "env": dict(child.env or {}), "niceness": child.niceness}
        message = json.dumps({**part, "stop_signal": int(child.stop_signal)})
        reading, writing = os.pipe()
        stdout = os.fdopen(reading, "rb")
        try:
            socket.send_fds(self._connection, [b"+"], [writing])
            self._connection.sendall(f"{message}\n".encode())
            pid = self._connection.recv(64)
        except OSError:
            pid = b""
        finally:
            os.close(writing)
        if not pid:
            stdout.close()
            self.process.kill()  # it has ended by itself, or does not respond
            self.process.wait()  # until all of its output is read
            lines = self.process.last_lines()
            sentence = f"{child.name} could not be started; its last line: {lines[-1] if lines else 'none'}"
            raise Unavailable("part-failed", sentence, faults=lines)
        return ForkedPart(int(pid), stdout)

    def close(self) -> None:
        """End the process; its forks continue."""
        self.process.kill()
        self.process.wait()
        self._connection.close()
        _adopt_orphans(adopt=False)


def _adopt_orphans(*, adopt: bool) -> None:
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, int(adopt), 0, 0, 0)


def main(prepared: Sequence[str], connection: socket.socket, runner: int) -> Sequence[str]:
    """Prepare, and fork a part for each message of the runner until the runner ends this process. Returns in each part,
    with the part's command.
    """
    gc.disable()  # modules stay in memory
    for name in prepared:
        found = resolve_name(name)
        if ":" in name:
            found()
    gc.freeze()
    gc.enable()
    while True:
        mark, files, _, _ = socket.recv_fds(connection, 1, 1)
        if not mark:
            sys.exit()
        with connection.makefile("rb") as lines:
            part = json.loads(lines.readline())
        between = os.fork()
        if between == 0 and os.fork() == 0:
            _become(part, files[0], runner)
            connection.send(str(os.getpid()).encode())
            connection.close()
            return list(part["argv"])
        if between == 0:
            os._exit(0)  # so that the runner adopts the part
        os.waitpid(between, 0)
        os.close(files[0])


def _become(part: Mapping[str, Any], output: int, runner: int) -> None:
    """Give this fork everything that :mod:`deploy.standalone.launch` gives to a part that it executes."""
    os.setsid()
    for number in (1, 2):
        os.dup2(output, number)
    os.close(output)
    os.nice(part["niceness"])
    until = time.monotonic() + ADOPTION_SECONDS
    while os.getppid() != runner and time.monotonic() < until:
        time.sleep(0.001)
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, part["stop_signal"], 0, 0, 0)
    if os.getppid() != runner:
        os._exit(1)
    os.environ.clear()
    os.environ.update(part["env"])
    time.tzset()
    _show_command(part["argv"])


def _show_command(argv: Sequence[str]) -> None:
    """Write the command over this process's own, where ``ps`` and ``kennel admin installation doctor`` read it."""
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    begin, end = int(fields[45]), int(fields[46])  # arg_start and arg_end, see proc_pid_stat(5)
    words = b"".join(f"{word}\0".encode() for word in argv)[: end - begin - 1]
    ctypes.memmove(begin, words.ljust(end - begin, b"\0"), end - begin)


if __name__ == "__main__":
    command = main(sys.argv[1].split(","), socket.socket(fileno=int(sys.argv[2])), int(sys.argv[3]))
    sys.argv = list(command[2:])
    runpy.run_module(command[2], run_name="__main__", alter_sys=True)
