"""A seccomp filter for this process and its later threads: it allows the system calls of a list and no others.

    for each call:  load its number;  if the list has it with this argument: allow;  else: fail

The filter cannot be removed. It is classic BPF for ``prctl(PR_SET_SECCOMP)``, which an unprivileged process may call,
even in most containers. The numbers are those of x86-64, the only tested architecture; on others there is no filter.
"""

import ctypes
import errno
import os
import platform
import struct
from collections.abc import Iterable, Mapping

from scorer.confinement.system_calls import COMPUTING, FILES, THREADS, Condition, build_conditions

_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _FILTER = 38, 22, 2
_ARCHITECTURE = 0xC000003E  # AUDIT_ARCH_X86_64
_NUMBER_AT, _ARCHITECTURE_AT, _FIRST_ARGUMENT_AT, _ARGUMENT_BYTES = 0, 4, 16, 8
_LOAD, _IF_EQUAL, _IF_AT_LEAST, _AND, _RETURN = 0x20, 0x15, 0x35, 0x54, 0x06
_ALLOW, _FAIL, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_UNKNOWN, _REFUSED = _FAIL | errno.ENOSYS, _FAIL | errno.EPERM
_X32 = 0x40000000

Step = tuple[int, int, int, int]
"""An instruction: code, jump if true, jump if false, operand."""


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def allow_listed(*, opens_files: bool, starts_threads: bool) -> bool:
    """Allow this process and its later threads only the listed calls (:mod:`scorer.confinement.system_calls`). Returns
    False if the filter cannot be installed."""
    if platform.machine() != "x86_64":
        return False
    calls = [
        *COMPUTING.values(),
        *(FILES.values() if opens_files else ()),
        *(THREADS.values() if starts_threads else ()),
    ]
    conditions = build_conditions(os.getpid(), opens_files=opens_files, starts_threads=starts_threads)
    instructions = b"".join(struct.pack("<HBBI", *step) for step in _steps(calls, conditions))
    program = _Program(len(instructions) // 8, instructions)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        return False
    return bool(libc.prctl(_PR_SET_SECCOMP, _FILTER, ctypes.byref(program), 0, 0) == 0)


def _steps(calls: Iterable[int], conditions: Mapping[int, Condition]) -> list[Step]:
    """The filter: the architecture, the unconditional calls, the conditional calls, and a failure for all others."""
    steps: list[Step] = [
        (_LOAD, 0, 0, _ARCHITECTURE_AT),
        (_IF_EQUAL, 1, 0, _ARCHITECTURE),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER_AT),
        (_IF_AT_LEAST, 0, 1, _X32),
        (_RETURN, 0, 0, _UNKNOWN),
    ]
    for number in calls:
        steps += [(_IF_EQUAL, 0, 1, number), (_RETURN, 0, 0, _ALLOW)]
    for number, condition in conditions.items():
        block = _block(condition)
        steps += [(_IF_EQUAL, 0, len(block), number), *block]
    return [*steps, (_RETURN, 0, 0, _UNKNOWN)]


def _block(condition: Condition) -> list[Step]:
    """Allow or refuse a call by the lower half of one of its arguments, which is all that the kernel uses."""
    at = _FIRST_ARGUMENT_AT + _ARGUMENT_BYTES * condition.argument
    steps: list[Step] = [(_LOAD, 0, 0, at), (_AND, 0, 0, condition.mask)]
    for value in condition.values:
        steps += [(_IF_EQUAL, 0, 1, value), (_RETURN, 0, 0, _ALLOW)]
    return [*steps, (_RETURN, 0, 0, _REFUSED)]
