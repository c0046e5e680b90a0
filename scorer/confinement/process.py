"""Confinement of a process, and limits on its resources, before it opens an untrusted file.

Several measures each keep it from the network, from files and from other processes, so a fault in one of them does not
break the confinement: see :data:`REQUIRED` and ``docs/explanation/sandbox.md``.
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
"""Whether each measure is in force, by name."""
REQUIRED = {
    "file_access": "Landlock, which keeps it from all files but its own (Linux 5.13 or later, if switched on)",
    "system_call_filter": "a filter of system calls (seccomp, on x86-64)",
    "unprivileged_user": "an unprivileged user (root needs the right to change users)",
    "no_capabilities": "the right to give up its capabilities",
}
"""The measures required to open an uploaded generator, with their names for people. Every other measure duplicates one
of these: for example, the filter also blocks everything that a network namespace does."""


def missing_measures(measures: Mapping[str, bool]) -> list[str]:
    """The required measures that are not in force, as phrases for people."""
    return [words for name, words in REQUIRED.items() if not measures.get(name, False)]


def confine(
    folder: Path | None = None,
    *,
    written: Collection[str] = (),
    written_bytes: int = 0,
    open_files: int,
    threads: int = 0,
) -> Measures:
    """Give up the network, other programs and processes, all privileges, and all files outside ``folder`` (or all
    files), and end with the parent. Returns which measures are in force.

    ``folder`` becomes the working directory. Only the files in it that ``written`` names may be written; they must
    exist, and each is limited to ``written_bytes``. ``open_files`` limits the descriptors, ``threads`` the threads (0:
    none can be started). Call it after all imports, because libraries can no longer be read afterwards, and in a
    process with a single thread; otherwise raises ``RuntimeError``.
    """
    parent = os.getppid()
    if len(os.listdir("/proc/self/task")) != 1:  # noqa: PTH208
        raise RuntimeError("only a process with a single thread can be confined: other threads would not be")
    if folder is not None:
        os.chdir(folder)  # another user may not be able to enter it
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
    _die_with(parent)  # last, because the kernel forgets it when the user or namespace changes
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
    """Limit memory to this many bytes beyond what this process has taken so far.

    Call it after all imports: libraries take gigabytes of address space and never use most of it.
    """
    lower_limit(resource.RLIMIT_AS, _address_space() + memory_bytes)


def limit_processor_time(cpu_seconds: int) -> None:
    """Limit processor time to this many seconds beyond what this process has used so far."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    seconds = int(used.ru_utime + used.ru_stime) + 1 + cpu_seconds
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))


def _unshare(namespaces: int) -> bool:
    return bool(ctypes.CDLL(None).unshare(namespaces) == 0)


def _die_with(parent: int) -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # the parent ended before the signal was requested
        os.kill(os.getpid(), signal.SIGKILL)


def _address_space() -> int:
    """The bytes of address space that this process uses, as Linux counts them."""
    with open("/proc/self/statm") as file:  # noqa: PTH123 - one number does not need pathlib
        return int(file.read().split()[0]) * resource.getpagesize()
