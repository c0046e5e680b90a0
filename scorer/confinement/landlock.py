"""File access limited by Landlock, irrevocably and for all later threads: one readable folder, or none.

Takes away every right that the kernel's version of Landlock knows. From version 4 this includes TCP, from version 6
abstract sockets and signals to other processes. Linux has Landlock since 5.13; if it is switched off, files are not
protected.
"""

import ctypes
import os
import struct
from collections.abc import Iterable
from pathlib import Path

_CREATE, _ADD, _RESTRICT = 444, 445, 446  # the same numbers on every architecture
_ASK_VERSION = 1
_BENEATH, _NO_NEW_PRIVS = 1, 38
_WRITE_FILE, _READ_FILE, _READ_FOLDER, _TRUNCATE = 1 << 1, 1 << 2, 1 << 3, 1 << 14
_FILE_RIGHTS = {1: 13, 2: 14, 3: 15, 5: 16}
"""The number of rights on files, by the first version that has them."""
_NETWORK_RIGHTS, _SCOPES = (4, 0b11), (6, 0b11)
"""The first version that has them, and all of them: TCP's bind and connect; abstract sockets and signals."""


def version() -> int:
    """The version of the kernel's Landlock; 0 if it has none."""
    return max(0, int(ctypes.CDLL(None).syscall(_CREATE, None, 0, _ASK_VERSION)))


def list_rights(version: int) -> tuple[int, int, int]:
    """All known rights of a version: on files, on the network, and scopes."""
    bits = max((count for since, count in _FILE_RIGHTS.items() if since <= version), default=0)
    network, scopes = (rights if since <= version else 0 for since, rights in (_NETWORK_RIGHTS, _SCOPES))
    return (1 << bits) - 1, network, scopes


def open_only(folder: Path | None, written: Iterable[Path] = ()) -> bool:
    """Let this process read only the files in ``folder``, and write only the existing files in ``written``. Without
    either, it can open nothing. Returns False if Landlock is not available."""
    known = version()
    if not known:
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    files, network, scopes = list_rights(known)
    attributes = struct.pack("<3Q", files, network, scopes)[: 24 if scopes else 16 if network else 8]
    rules = libc.syscall(_CREATE, attributes, len(attributes), 0)
    if rules < 0:
        return False
    try:
        if folder is not None:
            _allow(libc, rules, folder, access=_READ_FILE | _READ_FOLDER)
        for path in written:
            _allow(libc, rules, path, access=(_READ_FILE | _WRITE_FILE | _TRUNCATE) & files)
        libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0)
        return bool(libc.syscall(_RESTRICT, rules, 0) == 0)
    finally:
        os.close(rules)


def _allow(libc: ctypes.CDLL, rules: int, path: Path, *, access: int) -> None:
    descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        rule = struct.pack("<Qi", access, descriptor)
        if libc.syscall(_ADD, rules, _BENEATH, rule, 0) != 0:
            raise OSError(ctypes.get_errno(), "no rule can be made", str(path))
    finally:
        os.close(descriptor)
