"""What a process takes from itself before it looks at a stranger's file.

Two walls keep it from the network, each by itself: a network namespace of its own with nothing in it, where the system
lets a process make one, and a filter of system calls. If neither can be had, the file is not opened. A third keeps it
from the files of its user, where the system has it.
"""

import ctypes
import os
import resource
import signal
from pathlib import Path

from scorer.errors import Unavailable
from scorer.generators.limits import GeneratorLimits
from scorer.generators.sandbox import landlock, seccomp

_CLONE_NEWUSER, _CLONE_NEWNET = 0x10000000, 0x40000000
_PR_SET_PDEATHSIG = 1


def confine(folder: Path, limits: GeneratorLimits) -> dict[str, bool]:
    """Lose the network, other programs and processes, and all files but those in ``folder``; be ended with the parent.

    Says which walls hold (``network_namespace``, ``system_call_filter``, ``file_access``); ``Unavailable``
    (``no-sandbox``) if neither of the first two does.

    To be called first of all, while there is one thread.
    """
    _die_with_parent()
    for what, most in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, limits.written_bytes),
        (resource.RLIMIT_NOFILE, limits.open_files),
    ):
        _lower(what, most)
    network = _own_network()
    files = landlock.open_only(folder)
    calls = seccomp.forbid()
    if not (network or calls):
        raise Unavailable(
            "no-sandbox",
            "This system lets a process neither have a network namespace of its own nor filter its system calls; "
            "a stranger's generator is not opened without either.",
        )
    return {"network_namespace": network, "file_access": files, "system_call_filter": calls}


def limit_resources(limits: GeneratorLimits) -> None:
    """Limit memory and processor time to what is granted beyond what this process has taken so far.

    To be called when everything is imported: libraries take gigabytes of addresses, most of them never touched.
    """
    taken = resource.getrusage(resource.RUSAGE_SELF)
    _lower(resource.RLIMIT_AS, _address_space() + limits.memory_bytes)
    seconds = int(taken.ru_utime + taken.ru_stime) + 1 + limits.cpu_seconds
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))


def _lower(what: int, most: int) -> None:
    _, hard = resource.getrlimit(what)
    if hard != resource.RLIM_INFINITY:
        most = min(most, hard)
    resource.setrlimit(what, (most, most))


def _own_network() -> bool:
    libc = ctypes.CDLL(None, use_errno=True)
    return any(libc.unshare(flags) == 0 for flags in (_CLONE_NEWNET, _CLONE_NEWUSER | _CLONE_NEWNET))


def _die_with_parent() -> None:
    parent = os.getppid()
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it ended before it could be told to take us along
        os.kill(os.getpid(), signal.SIGKILL)


def _address_space() -> int:
    """Bytes of addresses that this process has, as Linux counts them."""
    with open("/proc/self/statm") as file:  # noqa: PTH123 - pathlib is not needed for one number
        return int(file.read().split()[0]) * resource.getpagesize()
