"""File access limited by Landlock, irrevocably and for all threads: one folder and the interpreter's files, or none.

Without it a compromised process could still read its user's files, among them the environment of the worker that
started it. Linux has Landlock since 5.13; where it is switched off, files are not protected.
"""

import ctypes
import os
import struct
import sys
from collections.abc import Iterable
from pathlib import Path

_CREATE, _ADD, _RESTRICT = 444, 445, 446  # the same numbers on every architecture
_BENEATH, _NO_NEW_PRIVS = 1, 38
_EXECUTE, _READ_FILE, _READ_FOLDER = 1 << 0, 1 << 2, 1 << 3
_ALL = (1 << 13) - 1  # of the first version
_READ = _EXECUTE | _READ_FILE | _READ_FOLDER  # libraries are mapped to be executed
SYSTEM = (
    "/usr",
    "/lib",
    "/lib64",
    "/etc/ld.so.cache",
    "/etc/localtime",
    "/proc/self",
    "/proc/cpuinfo",
    "/proc/meminfo",
)
DEVICES = ("/sys/devices/system", "/dev/null", "/dev/urandom")


def open_only(folder: Path | None) -> bool:
    """Let this process open only ``folder``, and read its own libraries; without a folder nothing at all. False where
    Landlock is not available."""
    libc = ctypes.CDLL(None, use_errno=True)
    attributes = struct.pack("<Q", _ALL)
    rules = libc.syscall(_CREATE, attributes, len(attributes), 0)
    if rules < 0:
        return False
    try:
        if folder is not None:
            _allow(libc, rules, folder, _ALL)
            for path in _readable():
                _allow(libc, rules, path, _READ)
        libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0)
        return bool(libc.syscall(_RESTRICT, rules, 0) == 0)
    finally:
        os.close(rules)


def _readable() -> Iterable[Path]:
    """The paths of the interpreter, its libraries and our code; never a whole disk."""
    python = {Path(each).resolve() for each in (sys.prefix, sys.base_prefix, *filter(None, sys.path))}
    return [path for path in {*python, *map(Path, SYSTEM + DEVICES)} if path.exists() and path != Path("/")]


def _allow(libc: ctypes.CDLL, rules: int, path: Path, access: int) -> None:
    descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    if not path.is_dir():
        access &= ~_READ_FOLDER
    try:
        rule = struct.pack("<Qi", access, descriptor)
        libc.syscall(_ADD, rules, _BENEATH, rule, 0)
    finally:
        os.close(descriptor)
