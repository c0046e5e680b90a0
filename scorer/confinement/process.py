"""Confinement of a process, and limits on its resources, before it opens an untrusted file.

Several measures each keep it from the network, from files and from other processes, so that a fault of one of them is
not the end: see :data:`REQUIRED` and ``docs/explanation/sandbox.md``.
"""

import ctypes
import os
import resource
import signal
from collections.abc import Collection, Mapping
from pathlib import Path

from scorer.confinement import landlock, seccomp
from scorer.confinement.privileges import become_unprivileged, drop_capabilities, limit_threads, lower_limit

_CLONE_NEWUSER, _CLONE_NEWNET = 0x10000000, 0x40000000
_PR_SET_PDEATHSIG = 1
Measures = dict[str, bool]
"""Which measures are in force, by name."""
REQUIRED = {
    "file_access": "Landlock, which keeps it from all files but its own (Linux 5.13 or later, where it is on)",
    "system_call_filter": "a filter of system calls (seccomp, on x86-64)",
    "unprivileged_user": "an unprivileged user (root needs the right to become another)",
    "no_capabilities": "the right to give up its capabilities",
}
"""The measures without which a stranger's generator is not opened, with their names for people. Of the others each has
its double here: what a network namespace keeps out, the filter does, too."""


def missing_measures(measures: Mapping[str, bool]) -> list[str]:
    """The required measures that are not in force, in words."""
    return [words for name, words in REQUIRED.items() if not measures.get(name, False)]


def confine(
    folder: Path | None = None,
    *,
    written: Collection[str] = (),
    written_bytes: int = 0,
    open_files: int,
    threads: int = 0,
) -> Measures:
    """Give up the network, other programs and processes, all privileges, and all files outside ``folder``, or all
    files; end with the parent. Returns which measures are in force.

    ``folder`` becomes its working directory. ``written`` names files in it, which are there already, that alone may be
    written, each up to ``written_bytes``; ``open_files`` limits the descriptors, ``threads`` the threads (0: none can
    be started). Call it when everything is imported, since libraries can be read no longer, and while there is only
    one thread:
    ``RuntimeError`` otherwise.
    """
    parent = os.getppid()
    if len(os.listdir("/proc/self/task")) != 1:  # noqa: PTH208
        raise RuntimeError("only a process of one thread can be confined: others would keep what they have")
    if folder is not None:
        os.chdir(folder)  # the way there may be closed to another user
    own = Path()
    network = _unshare(_CLONE_NEWNET)
    unprivileged = become_unprivileged([] if folder is None else [own, *own.iterdir()])
    network = network or _unshare(_CLONE_NEWUSER | _CLONE_NEWNET)
    without_capabilities = drop_capabilities()
    for kind, limit in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, written_bytes),
        (resource.RLIMIT_NOFILE, open_files),
    ):
        lower_limit(kind, limit)
    if threads:
        limit_threads(threads)
    read_only = bool(os.statvfs("/").f_flag & os.ST_RDONLY)
    files = landlock.open_only(None if folder is None else own, map(Path, written))
    _die_with(parent)  # after the changes of user and namespace, which the kernel takes as a reason to forget it
    calls = seccomp.allow_listed(opens_files=folder is not None, starts_threads=threads > 0)
    return {
        "network_namespace": network,
        "read_only_disks": read_only,
        "file_access": files,
        "system_call_filter": calls,
        "unprivileged_user": unprivileged,
        "no_capabilities": without_capabilities,
    }


def limit_memory(memory_bytes: int) -> None:
    """Limit memory to so many bytes beyond what this process has taken so far.

    Call it when everything is imported: libraries take gigabytes of address space, most of which they never touch.
    """
    lower_limit(resource.RLIMIT_AS, _address_space() + memory_bytes)


def limit_processor_time(cpu_seconds: int) -> None:
    """Limit processor time to so many seconds beyond what this process has used so far."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    seconds = int(used.ru_utime + used.ru_stime) + 1 + cpu_seconds
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))


def _unshare(namespaces: int) -> bool:
    return bool(ctypes.CDLL(None).unshare(namespaces) == 0)


def _die_with(parent: int) -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # the parent ended before the signal was asked for
        os.kill(os.getpid(), signal.SIGKILL)


def _address_space() -> int:
    """Bytes of address space that this process uses, as Linux counts them."""
    with open("/proc/self/statm") as file:  # noqa: PTH123 - pathlib is not needed for one number
        return int(file.read().split()[0]) * resource.getpagesize()
