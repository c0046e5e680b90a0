"""A process's use of its machine: threads, freed memory, open files."""

import ctypes
import os
import platform
import resource
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

THREADS_VARIABLE = "OMP_NUM_THREADS"
"""OpenMP's variable; the matrix product libraries also respect it."""


def usable_cores() -> int:
    # Only Linux reports the cores that this process may use.
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def processor_name() -> str:
    """The name that Linux reports: another model may round last bits differently."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or platform.machine())


def allowed_threads(environ: Mapping[str, str] = os.environ) -> int:
    """Return the threads that the operator allows: at most, and by default, one per core."""
    # OpenMP accepts a list for nested regions; its first number is for the outermost region.
    allowed = environ.get(THREADS_VARIABLE, "").partition(",")[0].strip()
    return min(int(allowed), usable_cores()) if allowed.isdecimal() and int(allowed) else usable_cores()


# The parameters of glibc's mallopt (malloc.h).
_TRIM_THRESHOLD, _MMAP_THRESHOLD, _MMAP_MAX = -1, -3, -4
_NEVER = 2**31 - 1
_DEFAULT_THRESHOLD = 128 << 10
_MEBIBYTE = 2**20


def return_freed_memory() -> None:
    """Return freed memory to the system from now on. Does nothing if the C library is not glibc.

    By default glibc raises its thresholds with the largest freed block and can keep up to 64 MiB of free memory. In a
    web process that is, for example, the data of 200 uploads that are already in files.
    """
    library = ctypes.CDLL(None)
    if hasattr(library, "mallopt"):
        library.mallopt(_TRIM_THRESHOLD, _DEFAULT_THRESHOLD)
        library.mallopt(_MMAP_THRESHOLD, _DEFAULT_THRESHOLD)


@contextmanager
def keep_freed_memory() -> Iterator[None]:
    """Keep freed memory within the context and return it afterwards. Does nothing if the C library is not glibc.

    A network's activations are tens of megabytes each. By default glibc maps and unmaps each of them, and every batch
    faults in the same gigabytes again. This takes two fifths of the time of EfficientNet-Lite0 on a virtual machine.

    Afterwards the thresholds are those that glibc reaches in a process with large blocks: 32 MiB to map, 64 MiB to
    trim.
    """
    library = ctypes.CDLL(None)
    if not (hasattr(library, "mallopt") and hasattr(library, "malloc_trim")):
        yield
        return
    library.mallopt(_MMAP_MAX, 0)
    library.mallopt(_TRIM_THRESHOLD, _NEVER)
    try:
        yield
    finally:
        library.mallopt(_MMAP_MAX, 65536)
        library.mallopt(_MMAP_THRESHOLD, 32 * _MEBIBYTE)
        library.mallopt(_TRIM_THRESHOLD, 64 * _MEBIBYTE)
        library.malloc_trim(0)


MAX_OPEN_FILES = 65_536


def raise_open_files_limit() -> None:
    """Raise this process's soft limit, often 1,024, as far as the system allows, up to ``MAX_OPEN_FILES``."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, MAX_OPEN_FILES)), hard))


def wait_passively() -> None:
    """Let waiting threads sleep unless the environment sets another policy. Call it before torch is loaded.

    By default they spin. If another process uses the same cores, a spinning thread delays the thread that it waits
    for, and a network becomes several times slower.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
