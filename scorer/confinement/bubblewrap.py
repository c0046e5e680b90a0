"""Bubblewrap around a command, where that program is installed and may make namespaces: disks that are read-only but
for one folder, and a process table of its own.

It stands behind the other measures: what they let through by a fault, a change of modes or owners for example, fails on
a disk that is read-only.
"""

import shutil
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path

_PROGRAM = "bwrap"
_TRIAL_SECONDS = 20
_NAMESPACES = ("--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try")
_DISKS = ("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc")


def wrapped(command: Sequence[str], folder: Path) -> list[str]:
    """The command so that it runs in ``folder``, the only one that is not read-only; as it is where bubblewrap is not
    installed or does not work. Ended by signal N, it exits with 128 + N."""
    program = shutil.which(_PROGRAM)
    if program is None or not _works(program):
        return list(command)
    own = ("--bind", str(folder), str(folder), "--chdir", str(folder))
    return [program, "--die-with-parent", *_NAMESPACES, *_DISKS, *own, "--", *command]


@cache
def _works(program: str) -> bool:
    """Whether it starts a program here: many containers forbid namespaces."""
    trial = [program, "--die-with-parent", *_NAMESPACES, *_DISKS, "--", "true"]
    try:
        done = subprocess.run(trial, capture_output=True, timeout=_TRIAL_SECONDS, check=False)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0
