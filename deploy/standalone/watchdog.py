"""The watchdog: a process that ends the processes of a killed runner, even after a SIGKILL of the runner.

A script with a pipe from the runner as its input. Lines ``+ PID SIGNAL`` and ``- PID`` add and remove process groups;
the end of the input means that the runner is gone. A death signal alone (:mod:`deploy.standalone.launch`) reaches only
direct children, not a worker's own processes.
"""

import contextlib
import os
import signal
import sys
import time
from collections.abc import Iterable
from pathlib import Path

GRACE_SECONDS = 3.0  # between the stop signal and SIGKILL


def main(lines: Iterable[str], grace: float = GRACE_SECONDS) -> None:
    """Maintain the list of groups until ``lines`` end, then end every group that is still in it."""
    for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(signum, signal.SIG_IGN)  # it ends with the runner, not before
    groups: dict[int, int] = {}
    for line in lines:
        sign, pid, *signum_given = line.split()
        if sign == "+":
            groups[int(pid)] = int(signum_given[0])
        else:
            groups.pop(int(pid), None)
    end_groups(groups, grace)


def end_groups(groups: dict[int, int], grace: float) -> None:
    """Send each group's leader its stop signal, and SIGKILL to the whole group after ``grace`` seconds."""
    for leader, signum in groups.items():
        with contextlib.suppress(ProcessLookupError):
            os.kill(leader, signum)
    until = time.monotonic() + grace
    while time.monotonic() < until and any(map(is_alive, groups)):
        time.sleep(0.05)
    for group in groups:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(group, signal.SIGKILL)


def is_alive(group: int) -> bool:
    """Whether any process of the group still runs; zombies do not count."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    if sys.platform != "linux":
        return True
    return any(_runs_in(stat, group) for stat in Path("/proc").glob("[0-9]*/stat"))


def _runs_in(stat: Path, group: int) -> bool:
    try:
        # "PID (NAME) STATE PARENT GROUP ...", where NAME may contain anything, even parentheses.
        state, _, its_group = stat.read_text(errors="replace").rpartition(")")[2].split()[:3]
    except OSError:  # it ended meanwhile
        return False
    return int(its_group) == group and state not in "ZX"


if __name__ == "__main__":
    main(sys.stdin)
