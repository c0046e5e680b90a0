"""Writes a blob whose bytes come slowly: few of them wait in memory, the others on disk.

Hashing and writing happen in threads of their own, some hundred KiB at a time, so that many uploads keep neither the
event loop nor the threads of requests.
"""

import hashlib
import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, Protocol

import obstore
from anyio import CancelScope, CapacityLimiter, to_thread
from anyio.lowlevel import RunVar
from obstore.store import ObjectStore

from scorer.blobs.object_store import out_of_space, store_errors

MEMORY_BYTES = 1 << 17
"""Bytes of a blob that wait in memory until they are written together."""
PART_BYTES = 8 << 20
"""The size of a part of a blob in S3, which takes none below 5 MiB but the last; it waits on disk until it is full."""
JOIN_BUFFER_BYTES, JOIN_CONCURRENCY = 8 << 20, 3
"""Joined blobs go to S3 in parts of this size, so many at once: their product is the memory of a join."""
MAX_WRITES = 8
"""Blobs of this process whose bytes are written at once; each has a part in memory meanwhile if it goes to S3."""


_limiter: RunVar[CapacityLimiter] = RunVar("blob_writes")


@dataclass(frozen=True)
class ReceivedBlob:
    """A stored upload: its key, size in bytes and SHA-256 (hex)."""

    key: str
    bytes: int
    sha256: str


class Staged(Protocol):
    """Bytes on their way into the store. Nothing is under the blob's key before ``finish``."""

    def add(self, data: bytes | bytearray) -> None:
        """Append bytes."""

    def finish(self) -> None:
        """Store what was added, replacing an earlier blob."""

    def abort(self) -> None:
        """Drop what was added; may be called at any time."""


class BlobWriter:
    """Writes the blob ``key``; ``bytes`` is how many it has so far. ``OutOfSpace`` where the disk is full,
    ``StoreUnavailable`` where the store fails. After an error it is to be aborted."""

    def __init__(self, key: str, stage: Callable[[], Staged]) -> None:
        self.key = key
        self.bytes = 0
        self._stage = stage
        self._staged: Staged | None = None
        self._waiting = bytearray()
        self._sha256 = hashlib.sha256()

    async def write(self, chunk: bytes) -> None:
        """Append bytes."""
        self.bytes += len(chunk)
        self._waiting += chunk
        if len(self._waiting) >= MEMORY_BYTES:
            await to_thread.run_sync(self._add, limiter=_write_limiter())

    async def close(self) -> ReceivedBlob:
        """Store the blob under its key."""
        await to_thread.run_sync(self._finish, limiter=_write_limiter())
        return ReceivedBlob(self.key, self.bytes, self._sha256.hexdigest())

    async def abort(self) -> None:
        """Drop the bytes: nothing is stored."""
        self._waiting = bytearray()
        if self._staged is not None:
            with CancelScope(shield=True):
                await to_thread.run_sync(self._staged.abort)

    def _add(self) -> Staged:
        self._sha256.update(self._waiting)
        with store_errors():
            staged = self._staged = self._staged or self._stage()
            staged.add(self._waiting)
        self._waiting = bytearray()
        return staged

    def _finish(self) -> None:
        staged = self._add()
        with store_errors():
            staged.finish()


class StagedFile:
    """A file beside the final one, which it replaces in the end. The cleanup removes what a killed process leaves."""

    def __init__(self, path: Path, min_free_bytes: int) -> None:
        self.path = path
        self._partial = path.with_name(f"{path.name}#{secrets.token_hex(4)}")
        path.parent.mkdir(parents=True, exist_ok=True)
        self._min_free_bytes = min_free_bytes
        self._file: IO[bytes] = self._partial.open("wb", buffering=0)

    def add(self, data: bytes | bytearray) -> None:
        """Append bytes."""
        require_free(self.path.parent, self._min_free_bytes)
        written = 0
        while written < len(data):
            written += self._file.write(memoryview(data)[written:])

    def finish(self) -> None:
        """Give the file its name."""
        self._file.close()
        os.replace(self._partial, self.path)  # noqa: PTH105 - the atomic rename, by its own name

    def abort(self) -> None:
        """Remove the file."""
        self._file.close()
        self._partial.unlink(missing_ok=True)


class StagedParts:
    """Parts for S3: one waits in a file without a name, full ones are with the store, which joins them in the end."""

    def __init__(self, store: ObjectStore, key: str, scratch: Path | None, *, min_free_bytes: int) -> None:
        if scratch is not None:
            scratch.mkdir(parents=True, exist_ok=True)
            require_free(scratch, min_free_bytes)
        self._part = TemporaryFile(dir=scratch)  # noqa: SIM115 - closed by finish or abort
        self._writer: Any = obstore.open_writer(store, key, buffer_size=PART_BYTES, max_concurrency=1)

    def add(self, data: bytes | bytearray) -> None:
        """Append bytes; a full part goes to the store."""
        self._part.write(data)
        if self._part.tell() >= PART_BYTES:
            self._send()

    def finish(self) -> None:
        """Send the last part and let the store join them."""
        self._send()
        self._part.close()
        self._writer.close()

    def abort(self) -> None:
        """Drop the part that waits; those that the store has are left to the bucket's rule for aborted uploads."""
        self._part.close()

    def _send(self) -> None:
        self._part.seek(0)
        self._writer.write(self._part.read())
        self._part.seek(0)
        self._part.truncate()


class StagedUpload:
    """Bytes for S3 that come fast, from its own parts: what is on its way to the store is in memory."""

    def __init__(self, store: ObjectStore, key: str) -> None:
        self._writer: Any = obstore.open_writer(
            store, key, buffer_size=JOIN_BUFFER_BYTES, max_concurrency=JOIN_CONCURRENCY
        )

    def add(self, data: bytes | bytearray) -> None:
        """Append bytes."""
        self._writer.write(data)

    def finish(self) -> None:
        """Send the last part and let the store join them."""
        self._writer.close()

    def abort(self) -> None:
        """Do nothing: the parts that the store has are left to the bucket's rule for aborted uploads."""


@contextmanager
def staging(stage: Callable[[], Staged]) -> Iterator[Staged]:
    """Bytes that are stored when the ``with`` ends, and dropped if it fails; the errors of
    :func:`~scorer.blobs.object_store.store_errors`."""
    with store_errors():
        staged = stage()
        try:
            yield staged
            staged.finish()
        except BaseException:
            staged.abort()
            raise


def _write_limiter() -> CapacityLimiter:
    """Of this event loop."""
    limiter = _limiter.get(None)
    if limiter is None:
        limiter = CapacityLimiter(MAX_WRITES)
        _limiter.set(limiter)
    return limiter


def require_free(folder: Path, min_free_bytes: int) -> None:
    """``OutOfSpace`` if the disk of a folder has less than ``min_free_bytes``, or a smaller share of its inodes than
    that is of its bytes: stored files keep their room. File systems that count no inodes have enough."""
    if not min_free_bytes:
        return
    disk = os.statvfs(folder)
    size, free = disk.f_blocks * disk.f_frsize, disk.f_bavail * disk.f_frsize
    if free < min_free_bytes or disk.f_favail * size < disk.f_files * min_free_bytes:
        raise out_of_space()
