"""Locks among the processes of one worker, on bytes of an unnamed file. A lock always ends with its process."""

import fcntl
import os
from tempfile import TemporaryFile


def shared_file() -> int:
    """A descriptor for ``fcntl.lockf``; open it before the worker forks its processes, and keep it open."""
    with TemporaryFile() as file:
        return os.dup(file.fileno())


def try_lock(file: int, byte: int) -> bool:
    """Lock a byte of the file for this process; False if another process has locked it."""
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, byte)
    except (BlockingIOError, PermissionError):
        return False
    return True


def is_locked(file: int, byte: int) -> bool:
    """Whether another process has locked a byte of the file."""
    if not try_lock(file, byte):
        return True
    fcntl.lockf(file, fcntl.LOCK_UN, 1, byte)
    return False
