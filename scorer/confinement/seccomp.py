"""A seccomp filter for this process and its threads: no sockets, no other programs, no signals to other processes.

    for each call:  load its number;  if it is forbidden: fail with EPERM;  else: allow

It cannot be removed again. It is classic BPF for ``prctl(PR_SET_SECCOMP)``, which an unprivileged process may call, in
most containers too. The numbers are those of x86-64, the only architecture on which this was tested; on others there is
no filter.
"""

import ctypes
import errno
import os
import platform
import struct

_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _FILTER = 38, 22, 2
_ARCHITECTURE = 0xC000003E  # AUDIT_ARCH_X86_64
_NUMBER_AT, _ARCHITECTURE_AT, _FIRST_ARGUMENT_AT = 0, 4, 16
_LOAD, _IF_EQUAL, _IF_AT_LEAST, _IF_ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _FAIL, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_X32 = 0x40000000
_CLONE, _CLONE3, _CLONE_THREAD = 56, 435, 0x00010000
_TGKILL = 234

FORBIDDEN = {
    "socket": 41,
    "connect": 42,
    "accept": 43,
    "sendto": 44,
    "sendmsg": 46,
    "bind": 49,
    "listen": 50,
    "socketpair": 53,
    "accept4": 288,
    "sendmmsg": 307,
    "fork": 57,
    "vfork": 58,
    "execve": 59,
    "execveat": 322,
    "kill": 62,
    "tkill": 200,
    "rt_sigqueueinfo": 129,
    "rt_tgsigqueueinfo": 297,
    "pidfd_send_signal": 424,
    "ptrace": 101,
    "process_vm_readv": 310,
    "process_vm_writev": 311,
    "pidfd_open": 434,
    "pidfd_getfd": 438,
    "io_uring_setup": 425,
    "bpf": 321,
    "perf_event_open": 298,
    "userfaultfd": 323,
    "add_key": 248,
    "request_key": 249,
    "keyctl": 250,
    "mount": 165,
    "unshare": 272,
    "setns": 308,
    "open_by_handle_at": 304,
}
"""System calls that no process which opens uploads needs, with their numbers on x86-64."""


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def forbid() -> bool:
    """Forbid these calls to this process and its later threads. False where the filter cannot be installed."""
    if platform.machine() != "x86_64":
        return False
    instructions = _instructions()
    program = _Program(len(instructions) // 8, instructions)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        return False
    return bool(libc.prctl(_PR_SET_SECCOMP, _FILTER, ctypes.byref(program), 0, 0) == 0)


def _instructions() -> bytes:
    """The filter's instructions, each packed as code, jump if true, jump if false, operand."""
    fail = _FAIL | errno.EPERM
    steps = [
        (_LOAD, 0, 0, _ARCHITECTURE_AT),
        (_IF_EQUAL, 1, 0, _ARCHITECTURE),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER_AT),
        (_IF_AT_LEAST, 0, 1, _X32),
        (_RETURN, 0, 0, fail),
        (_IF_EQUAL, 0, 1, _CLONE3),  # its flags lie in memory, which filters cannot read: glibc then uses clone
        (_RETURN, 0, 0, _FAIL | errno.ENOSYS),
    ]
    for number in FORBIDDEN.values():
        steps += [(_IF_EQUAL, 0, 1, number), (_RETURN, 0, 0, fail)]
    steps += [
        (_IF_EQUAL, 0, 4, _TGKILL),
        (_LOAD, 0, 0, _FIRST_ARGUMENT_AT),
        (_IF_EQUAL, 0, 1, os.getpid()),  # abort() signals its own process
        (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, fail),
        (_IF_EQUAL, 0, 3, _CLONE),
        (_LOAD, 0, 0, _FIRST_ARGUMENT_AT),
        (_IF_ANY_BIT, 1, 0, _CLONE_THREAD),  # a thread, not a process
        (_RETURN, 0, 0, fail),
        (_RETURN, 0, 0, _ALLOW),
    ]
    return b"".join(struct.pack("<HBBI", *step) for step in steps)
