"""Locks among the processes of one worker, by bytes of a file without a name. They end with a process, however it
ends."""

import os
from tempfile import TemporaryFile


def shared_file() -> int:
    """The descriptor of a new file, opened before the worker forks its processes and for as long as it runs, for
    ``fcntl.lockf``."""
    with TemporaryFile() as file:
        return os.dup(file.fileno())
