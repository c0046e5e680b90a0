"""One part of the process tree: its command, a running process of it, its restart policy."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from deploy.standalone import launch
from deploy.standalone.log import Log
from deploy.standalone.unix_account import UnixAccount
from deploy.standalone.watchdog import is_alive

MAX_LINE_BYTES = 65536  # a longer line is split rather than held in memory
FORCE = signal.SIGQUIT  # PostgreSQL: immediate shutdown; Celery: cold shutdown; others: termination
FORCE_TIMEOUT = 3.0  # seconds


@dataclass(frozen=True)
class Child:
    """A part to run: ``argv`` under ``user`` (None: our own account) with ``env`` (None: our own).

    ``stop_signal`` stops it; after ``stop_timeout`` seconds SIGQUIT follows, then SIGKILL. ``ready`` is polled for up
    to ``ready_timeout`` seconds until it returns True; it may raise if the part will never be ready. With ``restart``,
    the part is started again after every crash; otherwise a crash ends all parts.
    """

    name: str
    argv: Sequence[str | Path]
    env: Mapping[str, str] | None = None
    cwd: Path | None = None
    user: UnixAccount | None = None
    stop_signal: signal.Signals = signal.SIGTERM
    stop_timeout: float = 10.0
    restart: bool = False
    ready: Callable[[], bool] | None = None
    ready_timeout: float = 60.0
    niceness: int = 0
    """Its niceness: a larger number means a lower priority for the processor."""
    reached: Sequence[Path] = ()
    """Folders that ``user`` must reach, even through closed folders: the interpreter, the code."""
    preloaded: bool = False
    """Whether it runs a Python module and may start as a fork of the preloaded process."""
    files: Sequence[int] = ()
    """Open files that it inherits from us."""


class ForkedPart:
    """A forked part, with the interface of :class:`subprocess.Popen`."""

    def __init__(self, pid: int, stdout: IO[bytes]) -> None:
        self.pid = pid
        self.stdout = stdout
        self.returncode: int | None = None

    def wait(self) -> int:
        """Block until it has ended; returns the exit status, or -N for signal N."""
        if self.returncode is None:
            _, status = os.waitpid(self.pid, 0)
            self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode


StartedProcess = subprocess.Popen[bytes] | ForkedPart


class RestartPolicy:
    """The delay before each restart: it doubles from ``first`` to ``longest`` seconds, and is ``first`` again after a
    process that ran for more than ``longest`` seconds.
    """

    def __init__(self, first: float = 0.5, longest: float = 60.0) -> None:
        self.first = first
        self.longest = longest
        self._next = first

    def delay(self, ran: float) -> float:
        """Seconds to wait before the restart of a process that crashed after ``ran`` seconds."""
        delay = self.first if ran > self.longest else self._next
        self._next = min(2 * delay, self.longest)
        return delay


def launch_command(
    child_argv: Sequence[str | Path],
    signum: signal.Signals,
    user: UnixAccount | None,
    *,
    niceness: int = 0,
    reached: Sequence[Path] = (),
) -> list[str]:
    """The command that runs ``child_argv`` as ``user``; it gets the signal ``signum`` when this process dies."""
    uid, gid = (user.uid, user.gid) if user is not None else (launch.STAY, launch.STAY)
    stage = [sys.executable, "-I", "-S", launch.__file__, int(signum), os.getpid(), uid, gid, niceness]
    stage.append(os.pathsep.join(map(str, reached)))
    return [str(argument) for argument in (*stage, *child_argv)]


def installation(weights: Path | None = None) -> list[Path]:
    """The folders that a part reads: Python's, the code's, and that of the ``weights``."""
    named = (sys.prefix, sys.base_prefix, *sys.path, *([weights] if weights is not None else ()))
    return sorted({Path(folder).resolve() for folder in named if Path(folder).is_dir()})


def server_environment() -> dict[str, str]:
    """A minimal environment for the servers, without settings and secrets; Python still starts with it."""
    inherited = {name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if name in os.environ}
    return {"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC"} | inherited


def execute(child: Child) -> subprocess.Popen[bytes]:
    """Start the command of ``child`` in its own session and process group."""
    return subprocess.Popen(
        launch_command(child.argv, child.stop_signal, child.user, niceness=child.niceness, reached=child.reached),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=child.env,
        cwd=child.cwd,
        pass_fds=child.files,
        start_new_session=True,
    )


class ChildProcess:
    """One process of a child, in its own session and process group, so a terminal's Ctrl-C reaches only us."""

    def __init__(self, child: Child, log: Log, start: Callable[[Child], StartedProcess] = execute) -> None:
        self._child = child
        self._log = log
        self._last_lines: deque[str] = deque(maxlen=10)
        self.status = 0  # once ``ended``: the exit status, or -N for signal N
        self.ended = threading.Event()
        self.started_at = time.monotonic()
        self._process = start(child)
        self.pid = self._process.pid
        self._reader = threading.Thread(target=self._read, name=f"log of {child.name}", daemon=True)
        self._reader.start()

    def _read(self) -> None:
        pipe = self._process.stdout
        assert pipe is not None  # noqa: S101 - asked for above
        with pipe:
            while raw := pipe.readline(MAX_LINE_BYTES):
                text = raw.decode("utf-8", "replace").rstrip("\r\n")
                self._last_lines.append(text)
                self._log.line(self._child.name, text)

    def last_lines(self) -> list[str]:
        """The last ten non-empty lines of its output."""
        return [line for line in tuple(self._last_lines) if line.strip()]

    def wait(self) -> None:
        """Block until it has ended, then kill the rest of its group. For one thread only; others wait for ``ended``."""
        self.status = self._process.wait()
        self._end_group()
        self._reader.join(timeout=2.0)  # the limit matters only if a process left the group with the pipe
        self.ended.set()

    def _end_group(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        until = time.monotonic() + 1.0
        while time.monotonic() < until and is_alive(self.pid):
            time.sleep(0.005)

    def kill(self) -> None:
        """SIGKILL to the whole group."""
        with contextlib.suppress(ProcessLookupError):
            if self._process.returncode is None:  # afterwards the number may belong to another process
                os.killpg(self.pid, signal.SIGKILL)

    def _signal(self, signum: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            if self._process.returncode is None:
                os.kill(self.pid, signum)

    def stop(self) -> bool:
        """End it: send the stop signal to the process, then SIGQUIT, then SIGKILL to its group.

        Returns False if the stop signal did not suffice.
        """
        self._signal(self._child.stop_signal)
        if self.ended.wait(self._child.stop_timeout):
            return True
        self._signal(FORCE)
        if not self.ended.wait(FORCE_TIMEOUT):
            self.kill()
            self.ended.wait(FORCE_TIMEOUT)  # with a limit: a process may hang in the kernel
        return False


def describe_exit(status: int) -> str:
    """'ended with status N' or 'was ended by SIGNAL', from a status of subprocess."""
    if status >= 0:
        return f"ended with status {status}"
    try:
        return f"was ended by {signal.Signals(-status).name}"
    except ValueError:
        return f"was ended by signal {-status}"
