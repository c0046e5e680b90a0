"""Bubblewrap around a command, if it is installed and may make namespaces: disks that are read-only except for one
folder, and a separate process table.

It backs up the other measures: if a fault in them allows, for example, a change of modes or owners, the change still
fails on a read-only disk.
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
    """The command, changed to run in ``folder``, the only folder that is not read-only. Returns the command unchanged
    if bubblewrap is not installed or does not work. A command ended by signal N exits with 128 + N."""
    program = shutil.which(_PROGRAM)
    if program is None or not _works(program):
        return list(command)
    own = ("--bind", str(folder), str(folder), "--chdir", str(folder))
    return [program, "--die-with-parent", *_NAMESPACES, *_DISKS, *own, "--", *command]


@cache
def _works(program: str) -> bool:
    """Whether the program starts a process here: many containers forbid namespaces."""
    trial = [program, "--die-with-parent", *_NAMESPACES, *_DISKS, "--", "true"]
    try:
        done = subprocess.run(trial, capture_output=True, timeout=_TRIAL_SECONDS, check=False)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0
