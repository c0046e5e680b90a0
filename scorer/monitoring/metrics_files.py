"""The files in which a process keeps its metrics for others to read, with room on the disk before they are mapped."""

import logging
import os
from contextlib import suppress
from pathlib import Path

from prometheus_client.mmap_dict import _INITIAL_MMAP_SIZE, MmapedDict

log = logging.getLogger(__name__)
ENTRY_BYTES = 64
"""More than an entry takes in addition to its key."""


class MetricsFile(MmapedDict):
    """A file of prometheus-client that cannot end its process: writing to a mapped file without room on the disk is
    SIGBUS. If the disk is full, this process keeps the metrics in memory, where no other process reads them."""

    def __init__(self, filename: str, read_mode: bool = False) -> None:
        if read_mode or _has_room(filename, _INITIAL_MMAP_SIZE):
            super().__init__(filename, read_mode)  # type: ignore[no-untyped-call]
            return
        with suppress(OSError):
            Path(filename).unlink()  # readers would take an empty file for a broken one
        memory = os.memfd_create("metrics")
        try:
            super().__init__(_path_of(memory))  # type: ignore[no-untyped-call]
        finally:
            os.close(memory)

    def _init_value(self, key: str) -> None:
        if self._used + len(key.encode()) + ENTRY_BYTES > self._capacity and not _has_room(
            _path_of(self._f.fileno()), 2 * self._capacity
        ):
            memory = os.fdopen(os.memfd_create("metrics"), "a+b")
            memory.write(self._m[:])
            memory.flush()
            self._f.close()
            self._f = memory  # the base class maps it
        super()._init_value(key)  # type: ignore[no-untyped-call]


def _path_of(descriptor: int) -> str:
    return f"/proc/self/fd/{descriptor}"


def _has_room(filename: str, size: int) -> bool:
    """Whether the disk has room for the first ``size`` bytes of a file, which are reserved."""
    try:
        with Path(filename).open("ab") as file:
            os.posix_fallocate(file.fileno(), 0, max(size, os.fstat(file.fileno()).st_size))
    except OSError as error:
        log.warning("metrics of this process stay in memory until it ends: %s", error.strerror)
        return False
    return True
