"""The system calls of a process that computes on untrusted files, as recorded from audits and decoders.

``python -m tests.worker.generators.system_calls`` records them again with strace and reports which are missing here.
The numbers are those of x86-64. A call that is not listed fails as in a kernel without it, so libraries use their
alternative.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Condition:
    """The allowed values of one argument of a call: those in ``values`` under ``mask``."""

    argument: int
    values: Collection[int]
    mask: int = 0xFFFFFFFF


Calls = Mapping[str, int]

COMPUTING: Calls = {
    "read": 0,
    "write": 1,
    "close": 3,
    "fstat": 5,
    "poll": 7,
    "lseek": 8,
    "mmap": 9,
    "mprotect": 10,
    "munmap": 11,
    "brk": 12,
    "rt_sigaction": 13,
    "rt_sigprocmask": 14,
    "rt_sigreturn": 15,
    "pread64": 17,
    "pwrite64": 18,
    "readv": 19,
    "writev": 20,
    "sched_yield": 24,
    "mremap": 25,
    "madvise": 28,
    "nanosleep": 35,
    "getpid": 39,
    "exit": 60,
    "getrlimit": 97,
    "getrusage": 98,
    "sysinfo": 99,
    "times": 100,
    "getuid": 102,
    "getgid": 104,
    "geteuid": 107,
    "getegid": 108,
    "sigaltstack": 131,
    "gettid": 186,
    "futex": 202,
    "sched_getaffinity": 204,
    "restart_syscall": 219,
    "clock_gettime": 228,
    "clock_getres": 229,
    "clock_nanosleep": 230,
    "exit_group": 231,
    "getcpu": 309,
    "getrandom": 318,
}
"""Memory, time, and descriptors that are already open."""

FILES: Calls = {
    "stat": 4,
    "lstat": 6,
    "access": 21,
    "getcwd": 79,
    "readlink": 89,
    "getdents64": 217,
    "newfstatat": 262,
    "readlinkat": 267,
    "faccessat": 269,
    "statx": 332,
    "faccessat2": 439,
}
"""Looking at files, within the limits on file access; opening them has a condition."""

THREADS: Calls = {"set_robust_list": 273, "rseq": 334}
"""The calls of a new thread; creating it has a condition."""

O_ACCESS_MODE, O_TRUNCATE = 0x3, 0x200
_TCGETS, _FIOCLEX = 0x5401, 0x5451
_F_DUPFD, _F_GETFD, _F_SETFD, _F_GETFL, _F_DUPFD_CLOEXEC, _F_GET_SEALS = 0, 1, 2, 3, 1030, 1034
_PR_SET_NAME, _PR_SET_VMA = 15, 0x53564D41
_CLONE_THREAD = 0x00010000

OPENAT, CLONE = 257, 56


def build_conditions(process: int, *, opens_files: bool, starts_threads: bool) -> Mapping[int, Condition]:
    """The calls, by number, that the process with this number may only make with some values of an argument.

    It can signal and limit only itself. Opening a file for reading cannot empty it, which the first two versions of
    Landlock would allow. A descriptor cannot send signals to other processes (``F_SETOWN``).
    """
    conditions = {
        16: Condition(1, (_TCGETS, _FIOCLEX)),  # ioctl
        72: Condition(1, (_F_DUPFD, _F_GETFD, _F_SETFD, _F_GETFL, _F_DUPFD_CLOEXEC, _F_GET_SEALS)),  # fcntl
        157: Condition(0, (_PR_SET_NAME, _PR_SET_VMA)),  # prctl
        234: Condition(0, (process,)),  # tgkill
        302: Condition(0, (0, process)),  # prlimit64
    }
    if opens_files:
        modes = {mode | truncate for mode in (0, 1, 2) for truncate in (0, O_TRUNCATE)} - {O_TRUNCATE}
        conditions[OPENAT] = Condition(2, sorted(modes), O_ACCESS_MODE | O_TRUNCATE)
    if starts_threads:
        conditions[CLONE] = Condition(0, (_CLONE_THREAD,), _CLONE_THREAD)
    return conditions
