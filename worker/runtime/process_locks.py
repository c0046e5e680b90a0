"""Locks among the processes of one worker, by bytes of a file without a name. They end with a process, however it
ends."""

import fcntl
import os
from tempfile import TemporaryFile


def shared_file() -> int:
    """The descriptor of a new file, opened before the worker forks its processes and for as long as it runs, for
    ``fcntl.lockf``."""
    with TemporaryFile() as file:
        return os.dup(file.fileno())


def try_lock(file: int, byte: int) -> bool:
    """Lock a byte of the file for this process alone; False if another process has locked it."""
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
