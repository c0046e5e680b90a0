"""Writes blobs from slow streams: few bytes wait in memory, the others on disk.

Separate threads hash and write about a hundred KiB at a time. Even many uploads block neither the event loop nor the
threads of requests.
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
"""Bytes of a blob that are collected in memory and written together."""
PART_BYTES = 8 << 20
"""The size of a part in S3, where all parts but the last need 5 MiB. A part waits on disk until it is full."""
JOIN_BUFFER_BYTES, JOIN_CONCURRENCY = 8 << 20, 3
"""The size of parts of joined blobs for S3, and the number of simultaneous parts. A join needs their product in
memory."""
MAX_WRITES = 8
"""Simultaneous writes of this process. For S3 each of them has one part in memory."""


_limiter: RunVar[CapacityLimiter] = RunVar("blob_writes")


@dataclass(frozen=True)
class ReceivedBlob:
    """A stored upload: its key, size in bytes and SHA-256 (hex)."""

    key: str
    bytes: int
    sha256: str


class Staged(Protocol):
    """Bytes on their way into the store. The blob does not exist before ``finish``."""

    def add(self, data: bytes | bytearray) -> None:
        """Append bytes."""

    def finish(self) -> None:
        """Store the added bytes, replacing an earlier blob."""

    def abort(self) -> None:
        """Drop the added bytes; may be called at any time."""


class BlobWriter:
    """Writes the blob ``key``; ``bytes`` is its current size. Abort it after an error.

    ``OutOfSpace`` if the disk is full, ``StoreUnavailable`` if the store fails.
    """

    def __init__(self, key: str, stage: Callable[[], Staged]) -> None:
        self.key = key
        self.bytes = 0
        self._stage = stage
        self._staged: Staged | None = None
        self._waiting = bytearray()
        self._sha256 = hashlib.sha256()

    async def write(self, chunk: bytes) -> None:
        self.bytes += len(chunk)
        self._waiting += chunk
        if len(self._waiting) >= MEMORY_BYTES:
            await to_thread.run_sync(self._add, limiter=_write_limiter())

    async def close(self) -> ReceivedBlob:
        await to_thread.run_sync(self._finish, limiter=_write_limiter())
        return ReceivedBlob(self.key, self.bytes, self._sha256.hexdigest())

    async def abort(self) -> None:
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
    """A temporary file next to the final file, which it replaces. The cleanup removes the files of killed processes."""

    def __init__(self, path: Path, min_free_bytes: int) -> None:
        self.path = path
        self._partial = path.with_name(f"{path.name}#{secrets.token_hex(4)}")
        path.parent.mkdir(parents=True, exist_ok=True)
        self._min_free_bytes = min_free_bytes
        self._file: IO[bytes] = self._partial.open("wb", buffering=0)

    def add(self, data: bytes | bytearray) -> None:
        require_free(self.path.parent, self._min_free_bytes)
        written = 0
        while written < len(data):
            written += self._file.write(memoryview(data)[written:])

    def finish(self) -> None:
        self._file.close()
        os.replace(self._partial, self.path)  # noqa: PTH105 - the atomic rename, by its usual name

    def abort(self) -> None:
        self._file.close()
        self._partial.unlink(missing_ok=True)


class StagedParts:
    """Parts for S3: one part waits in an unnamed file, full parts are in the store, which joins them at the end."""

    def __init__(self, store: ObjectStore, key: str, scratch: Path | None, *, min_free_bytes: int) -> None:
        if scratch is not None:
            scratch.mkdir(parents=True, exist_ok=True)
            require_free(scratch, min_free_bytes)
        self._part = TemporaryFile(dir=scratch)  # noqa: SIM115 - closed by finish or abort
        self._writer: Any = obstore.open_writer(store, key, buffer_size=PART_BYTES, max_concurrency=1)

    def add(self, data: bytes | bytearray) -> None:
        self._part.write(data)
        if self._part.tell() >= PART_BYTES:
            self._send()

    def finish(self) -> None:
        self._send()
        self._part.close()
        self._writer.close()

    def abort(self) -> None:
        """Drop the waiting part. The bucket's rule for aborted uploads removes the other parts."""
        self._part.close()

    def _send(self) -> None:
        self._part.seek(0)
        self._writer.write(self._part.read())
        self._part.seek(0)
        self._part.truncate()


class StagedUpload:
    """Bytes for S3 from fast sources, such as parts in the store. They wait in memory."""

    def __init__(self, store: ObjectStore, key: str) -> None:
        self._writer: Any = obstore.open_writer(
            store, key, buffer_size=JOIN_BUFFER_BYTES, max_concurrency=JOIN_CONCURRENCY
        )

    def add(self, data: bytes | bytearray) -> None:
        self._writer.write(data)

    def finish(self) -> None:
        self._writer.close()

    def abort(self) -> None:
        """Do nothing: the bucket's rule for aborted uploads removes the parts."""


@contextmanager
def staging(stage: Callable[[], Staged]) -> Iterator[Staged]:
    """Store the bytes at the end of the block, or drop them if it fails.

    Raises the errors of :func:`~scorer.blobs.object_store.store_errors`.
    """
    with store_errors():
        staged = stage()
        try:
            yield staged
            staged.finish()
        except BaseException:
            staged.abort()
            raise


def _write_limiter() -> CapacityLimiter:
    limiter = _limiter.get(None)
    if limiter is None:
        limiter = CapacityLimiter(MAX_WRITES)
        _limiter.set(limiter)
    return limiter


def require_free(folder: Path, min_free_bytes: int) -> None:
    """``OutOfSpace`` if a folder's disk has fewer free bytes than ``min_free_bytes``, or too few free inodes.

    The required share of inodes is the share of bytes. File systems without a count of inodes have enough.
    """
    if not min_free_bytes:
        return
    disk = os.statvfs(folder)
    size, free = disk.f_blocks * disk.f_frsize, disk.f_bavail * disk.f_frsize
    if free < min_free_bytes or disk.f_favail * size < disk.f_files * min_free_bytes:
        raise out_of_space()
