"""Confinement of a process, and limits on its resources, before it opens an uploaded file.

Two measures each keep it from the network: an empty network namespace, where the system lets a process make one, and a
system call filter. Landlock, where the system has it, keeps the process from its user's files.
"""

import ctypes
import os
import resource
import signal
from pathlib import Path

from scorer.confinement import landlock, seccomp

_CLONE_NEWUSER, _CLONE_NEWNET = 0x10000000, 0x40000000
_PR_SET_PDEATHSIG = 1


def confine(folder: Path | None, *, written_bytes: int, open_files: int) -> dict[str, bool]:
    """Give up the network, other programs and processes, and all files outside ``folder``, or all files; end with the
    parent. ``written_bytes`` limits each file that is written, ``open_files`` the descriptors that are opened.

    Returns which measures are in force: ``network_namespace``, ``system_call_filter``, ``file_access``. Call it while
    there is only one thread.
    """
    _die_with_parent()
    for kind, limit in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, written_bytes),
        (resource.RLIMIT_NOFILE, open_files),
    ):
        _lower(kind, limit)
    network = _own_network()
    files = landlock.open_only(folder)
    calls = seccomp.forbid()
    return {"network_namespace": network, "file_access": files, "system_call_filter": calls}


def limit_memory(memory_bytes: int) -> None:
    """Limit memory to so many bytes beyond what this process has taken so far.

    Call it when everything is imported: libraries take gigabytes of address space, most of which they never touch.
    """
    _lower(resource.RLIMIT_AS, _address_space() + memory_bytes)


def limit_processor_time(cpu_seconds: int) -> None:
    """Limit processor time to so many seconds beyond what this process has used so far."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    seconds = int(used.ru_utime + used.ru_stime) + 1 + cpu_seconds
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))


def _lower(kind: int, limit: int) -> None:
    _, hard = resource.getrlimit(kind)
    if hard != resource.RLIM_INFINITY:
        limit = min(limit, hard)
    resource.setrlimit(kind, (limit, limit))


def _own_network() -> bool:
    libc = ctypes.CDLL(None, use_errno=True)
    return any(libc.unshare(flags) == 0 for flags in (_CLONE_NEWNET, _CLONE_NEWUSER | _CLONE_NEWNET))


def _die_with_parent() -> None:
    parent = os.getppid()
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # the parent ended before the signal was asked for
        os.kill(os.getpid(), signal.SIGKILL)


def _address_space() -> int:
    """Bytes of address space that this process uses, as Linux counts them."""
    with open("/proc/self/statm") as file:  # noqa: PTH123 - pathlib is not needed for one number
        return int(file.read().split()[0]) * resource.getpagesize()
