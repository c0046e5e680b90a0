"""What a process takes from its machine: threads, memory that it has freed, open files."""

import ctypes
import os
import resource
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

THREADS_VARIABLE = "OMP_NUM_THREADS"
"""OpenMP's own variable, which the libraries of matrix products heed, too."""


def usable_cores() -> int:
    """The cores that this process may use."""
    # Only Linux reports which ones.
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def allowed_threads(environ: Mapping[str, str] = os.environ) -> int:
    """The threads that the operator allows, at most one a core; without ``OMP_NUM_THREADS`` one a core."""
    # A list, as OpenMP has it, is for regions within regions: its first number is the outermost one's.
    allowed = environ.get(THREADS_VARIABLE, "").partition(",")[0].strip()
    return min(int(allowed), usable_cores()) if allowed.isdecimal() and int(allowed) else usable_cores()


# The parameters of glibc's mallopt (malloc.h).
_TRIM_THRESHOLD, _MMAP_THRESHOLD, _MMAP_MAX = -1, -3, -4
_NEVER = 2**31 - 1
_DEFAULT_THRESHOLD = 128 << 10
_MEBIBYTE = 2**20


def return_freed_memory() -> None:
    """Return freed memory to the system from now on. Does nothing where the C library is not glibc.

    By itself glibc raises its thresholds with the largest block freed, up to 64 MiB that a process keeps for nothing:
    what 200 senders have sent to a web process, say, once it is written to files.
    """
    library = ctypes.CDLL(None)
    if hasattr(library, "mallopt"):
        library.mallopt(_TRIM_THRESHOLD, _DEFAULT_THRESHOLD)
        library.mallopt(_MMAP_THRESHOLD, _DEFAULT_THRESHOLD)


@contextmanager
def keep_freed_memory() -> Iterator[None]:
    """Keep memory freed within the context, which speeds up CPUs as much as a better kernel; afterwards return it.

    A network's activations are tens of megabytes each. By default glibc maps every one of them and unmaps it at once,
    so each batch faults in, and the kernel clears, the same gigabytes again: two fifths of the time of
    EfficientNet-Lite0, measured on a virtual machine.

    Does nothing where the C library is not glibc. Afterwards the thresholds are those that glibc itself reaches in a
    process that uses large blocks (32 MiB to map, twice that to trim).
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
    """Raise this process's limit from the shell's, often 1,024, as far as the system lets it, up to
    ``MAX_OPEN_FILES``."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, MAX_OPEN_FILES)), hard))


def wait_passively() -> None:
    """Let waiting threads sleep, unless the environment says otherwise; to be called before torch is loaded.

    By default they spin, which gains a little on idle cores. Where another process is at work on the same cores, a
    spinning thread holds up the very thread that it waits for, and a network becomes several times slower.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
