"""The privileges of a process: its user, its capabilities, its threads; given up before it opens an upload."""

import ctypes
import os
import pwd
import resource
import struct
import threading
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

FIRST_USER, USERS = 60_578, 606
"""User numbers that neither people nor services have (systemd, "Users, Groups, UIDs and GIDs": unused)."""
_CAPABILITY_VERSION = 0x20080522
_PR_CAPBSET_DROP, _PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL, _PR_SET_DUMPABLE = 24, 47, 4, 4
_MAX_CAPABILITIES = 64


def account_name(uid: int) -> str:
    """The name of the account ``uid``, or the number if it has no name."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def become_unprivileged(handed_over: Iterable[Path]) -> bool:
    """As root, become a user that only this process has, and give it the files and folders in ``handed_over``. Other
    users don't change. Returns False if that fails and the process remains root."""
    if os.geteuid() != 0:
        return True
    user = FIRST_USER + os.getpid() % USERS
    try:
        for path in handed_over:
            os.chown(path, user, user, follow_symlinks=False)
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
    except OSError:  # no such user in this container, or root without the right to change users
        return False
    return True


def drop_capabilities() -> bool:
    """Give up all capabilities permanently, including those from a user namespace. Returns whether none is left."""
    libc = ctypes.CDLL(None, use_errno=True)
    for capability in range(_MAX_CAPABILITIES):
        libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)
    libc.prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
    libc.capset(struct.pack("<Ii", _CAPABILITY_VERSION, 0), bytes(24))
    hide_memory()
    return capabilities() == 0


def hide_memory() -> None:
    """Close this process's memory and environment to other processes of its user, until it runs another program."""
    ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def capabilities() -> int:
    """The capabilities that this process has or may take, as bits."""
    lines = Path("/proc/self/status").read_text().splitlines()
    fields = dict(line.split(":", 1) for line in lines)
    return int(fields["CapPrm"], 16) | int(fields["CapEff"], 16) | int(fields["CapInh"], 16)


def limit_threads(threads: int) -> None:
    """Limit the threads that this process can start in addition to the running ones: to at least ``threads``, and at
    most a few times as many.

    The system's limit counts the user's threads on the whole machine, including containers, which no process can count.
    So the limit is doubled until there is room for one thread.
    """
    with suppress(OSError):
        ctypes.CDLL("libgcc_s.so.1")  # ending a thread needs it, and a confined process can no longer load it
    limit = threads
    while not _has_room(limit):
        limit *= 2
    lower_limit(resource.RLIMIT_NPROC, limit + threads)


def lower_limit(kind: int, limit: int) -> None:
    """Lower a resource limit permanently; a limit that is already lower stays."""
    _, hard = resource.getrlimit(kind)
    if hard != resource.RLIM_INFINITY:
        limit = min(limit, hard)
    resource.setrlimit(kind, (limit, limit))


def _has_room(limit: int) -> bool:
    """Whether a thread can be started under this limit, or the limit cannot be higher."""
    _, hard = resource.getrlimit(resource.RLIMIT_NPROC)
    if hard != resource.RLIM_INFINITY and limit >= hard:
        return True
    resource.setrlimit(resource.RLIMIT_NPROC, (limit, hard))
    thread = threading.Thread(target=bool)
    try:
        thread.start()
    except RuntimeError:
        return False
    thread.join()
    return True
