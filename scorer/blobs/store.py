"""The blob store: files by key in a local folder or an S3-compatible store, both through obstore."""

import hashlib
import io
import logging
import os
import shutil
import zlib
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING, BinaryIO, cast

import obstore
from obstore.store import S3Store

from scorer.blobs.blob_writer import BlobWriter, ReceivedBlob, Staged, StagedFile, StagedParts, StagedUpload, staging
from scorer.blobs.object_store import ABSENT, object_store_at, parse_folder, store_errors, with_signed_length
from scorer.errors import NotFound, StoreUnavailable, TooLarge, Unavailable
from scorer.settings import Settings

if TYPE_CHECKING:  # obstore names these types for type checkers only
    from obstore import ObjectMeta, ReadableFile


log = logging.getLogger(__name__)

READ_AHEAD = 1 << 20
"""Bytes per request for a blob that is read in parts: a zip's directory needs one or two requests."""
ABSENT_BLOB = "self-test/absent"
"""The key that tests whether the store answers."""


@dataclass(frozen=True)
class StoredBlob:
    """A blob in the store's list: its key, size in bytes, and time of the last write."""

    key: str
    bytes: int
    modified: datetime


class DamagedBlob(Exception):
    """A stored blob has changed: bit rot, or another file under its key. It is Kennel's fault, never a team's."""


def require_bytes(size: int | None, limit: int) -> None:
    """``TooLarge`` if the received or declared ``size`` (None: not declared) of an upload exceeds ``limit`` bytes."""
    if size is not None and size > limit:
        raise TooLarge("too-large", f"The upload is too large. The limit is {limit:,} bytes.", limit=limit)


class Blobs:
    """The blob store at ``url`` (``file:///folder`` or ``s3://bucket/prefix``).

    - ``public_endpoint``: the S3 endpoint that participants can reach, if any.
    - ``secret_key``: the key of S3; None for the environment's.
    - ``scratch``: the folder in which parts of received blobs wait for S3; None for the system's.
    - ``min_free_bytes``: a disk with fewer free bytes counts as full.
    """

    def __init__(
        self,
        url: str,
        *,
        public_endpoint: str | None = None,
        secret_key: str | None = None,
        scratch: Path | None = None,
        min_free_bytes: int = 0,
    ) -> None:
        self._scratch = scratch
        self._min_free_bytes = min_free_bytes
        self._folder = parse_folder(url)
        self._public: S3Store | None = None
        self._secret_key = secret_key
        try:
            self._store = object_store_at(url, secret_key)
            if public_endpoint is not None and isinstance(self._store, S3Store):
                self._public = cast(S3Store, object_store_at(url, secret_key, endpoint=public_endpoint))
        except Exception as error:
            raise Unavailable("blob-store", f"The blob store at {url} cannot be opened: {error}.") from error

    async def receive(self, key: str, chunks: AsyncIterator[bytes], *, limit: int) -> ReceivedBlob:
        """Store a stream under ``key``. If the stream breaks off, nothing is stored.

        ``TooLarge`` as soon as it exceeds ``limit`` bytes, ``OutOfSpace`` if the disk is full.
        """
        writer = self.writer(key)
        try:
            async for chunk in chunks:
                require_bytes(writer.bytes + len(chunk), limit)
                await writer.write(chunk)
            return await writer.close()
        except BaseException:
            await writer.abort()
            raise

    def writer(self, key: str) -> BlobWriter:
        """Return a writer for ``key`` that keeps at most ``MEMORY_BYTES`` in memory."""
        if self._folder is not None:
            return BlobWriter(key, partial(StagedFile, self._folder / key, self._min_free_bytes))
        return BlobWriter(
            key, partial(StagedParts, self._store, key, self._scratch, min_free_bytes=self._min_free_bytes)
        )

    def write(self, key: str, data: bytes) -> None:
        """Store ``data`` under ``key`` atomically, replacing an earlier blob."""
        with store_errors():
            obstore.put(self._store, key, data)

    def write_file(self, key: str, path: Path) -> None:
        """Store a file's content under ``key`` atomically and in constant memory, replacing an earlier blob."""
        with store_errors():
            obstore.put(self._store, key, path)

    def join(self, keys: Sequence[str], key: str) -> ReceivedBlob:
        """Concatenate the blobs ``keys`` into ``key``, with one blob in memory at a time.

        ``NotFound`` if a blob is missing, ``OutOfSpace`` if the disk is full; nothing is stored then.
        """
        digest = hashlib.sha256()
        size = 0
        with staging(partial(self._stage_joined, key)) as staged:
            for part_key in keys:
                data = self.read(part_key)
                size += len(data)
                digest.update(data)
                staged.add(data)
        return ReceivedBlob(key, size, digest.hexdigest())

    def _stage_joined(self, key: str) -> Staged:
        if self._folder is not None:
            return StagedFile(self._folder / key, self._min_free_bytes)
        return StagedUpload(self._store, key)

    def copy(self, key: str, to: str) -> ReceivedBlob:
        """Copy a blob within the store and hash the copy: the original may be overwritten in the meantime."""
        with store_errors(key):
            obstore.copy(self._store, key, to)
        return self.hash_blob(to)

    def hash_blob(self, key: str) -> ReceivedBlob:
        """Hash a blob in constant memory; ``NotFound`` if it does not exist."""
        digest = hashlib.sha256()
        size = 0
        with store_errors(key):
            for chunk in obstore.get(self._store, key).stream(min_chunk_size=READ_AHEAD):
                size += len(chunk)
                digest.update(chunk)
        return ReceivedBlob(key, size, digest.hexdigest())

    def require_unchanged(self, key: str, sha256: str) -> None:
        """``DamagedBlob`` unless the blob has this recorded SHA-256 (hex)."""
        stored = self.hash_blob(key).sha256
        if stored != sha256:
            raise DamagedBlob(f"The SHA-256 of the blob {key} is {stored}, but {sha256} was recorded.")

    def crc32(self, key: str) -> int:
        """Return the CRC-32 of a blob, as zips record it for their members. Reads the whole blob."""
        crc = 0
        with self.open(key) as file:
            while chunk := file.read(READ_AHEAD):
                crc = zlib.crc32(chunk, crc)
        return crc

    def size(self, key: str) -> int | None:
        """Return the size of a blob in bytes; None if it does not exist."""
        head = self._head(key)
        return head["size"] if head is not None else None

    def _head(self, key: str) -> "ObjectMeta | None":
        with store_errors():
            try:
                return obstore.head(self._store, key)
            except ABSENT:
                return None

    @property
    def supports_presigned_put(self) -> bool:
        """Whether participants can upload directly: they can reach the store, and its secret key is known."""
        return self._public is not None and self._secret_key is not None

    def presigned_put(self, key: str, length: int, life: timedelta) -> str | None:
        """Return a presigned URL for PUT of ``length`` bytes under ``key``; None if that is not supported.

        It works repeatedly for ``life``.
        """
        if self._public is None or self._secret_key is None:
            return None
        return with_signed_length(obstore.sign(self._public, "PUT", key, life), length, self._secret_key)

    def presigned_get(self, key: str, life: timedelta) -> str | None:
        """Return a presigned URL for GET of ``key``, valid for ``life``; None if participants can't reach the store."""
        return obstore.sign(self._public, "GET", key, life) if self._public is not None else None

    def older_than(self, prefix: str, moment: datetime) -> Iterator[list[str]]:
        """Yield the keys of blobs under ``prefix`` last written before ``moment``, in batches of at most 1,000."""
        for batch in self._listed(prefix):
            yield [blob["path"] for blob in batch if blob["last_modified"] < moment]

    def stored(self) -> Iterator[StoredBlob]:
        for batch in self._listed():
            for blob in batch:
                yield StoredBlob(blob["path"], blob["size"], blob["last_modified"])

    def require_usable(self) -> None:
        """``StoreUnavailable`` if the store does not answer, has no such bucket, or refuses the key."""
        with suppress(NotFound):
            self.read(ABSENT_BLOB)

    def _listed(self, prefix: str | None = None) -> Iterator[Sequence["ObjectMeta"]]:
        with store_errors():
            yield from obstore.list(self._store, prefix, chunk_size=1000)

    def is_older(self, key: str, moment: datetime) -> bool:
        head = self._head(key)
        return head is not None and head["last_modified"] < moment

    def read(self, key: str) -> bytes:
        """Return the whole blob; ``NotFound`` if it does not exist."""
        with store_errors(key):
            return bytes(obstore.get(self._store, key).bytes())

    def read_part(self, key: str, start: int, length: int) -> bytes:
        """Return ``length`` bytes of a blob from ``start`` on; ``NotFound`` if it does not exist."""
        with store_errors(key):
            return bytes(obstore.get_range(self._store, key, start=start, length=length))

    def exists(self, key: str) -> bool:
        return self.size(key) is not None

    def open(self, key: str) -> BinaryIO:
        """Return a seekable reader that only fetches the bytes it reads; ``NotFound`` if the blob does not exist."""
        with store_errors(key):
            reader = obstore.open_reader(self._store, key)
        return cast(BinaryIO, io.BufferedReader(BlobReader(reader, key), READ_AHEAD))

    def delete(self, key: str) -> None:
        """Delete a blob if it exists."""
        with store_errors(), suppress(*ABSENT):
            obstore.delete(self._store, key)

    def delete_all(self, keys: Sequence[str]) -> None:
        with store_errors():
            try:
                obstore.delete(self._store, keys)
            except ABSENT:
                for key in keys:
                    self.delete(key)

    def discard(self, keys: Sequence[str]) -> None:
        """Delete blobs that no row refers to. If the store fails, the cleanup deletes them later."""
        try:
            self.delete_all(keys)
        except StoreUnavailable as error:
            log.warning("deleting %d blobs failed; the cleanup will delete them: %s", len(keys), error)

    def remove_partial_files(self, before: datetime) -> int:
        """Remove the files of killed writers from a local folder, if older than ``before``; return their number.

        obstore writes ``key#1`` and renames it at the end. In S3 the bucket's rule removes such parts.
        """
        if self._folder is None:
            return 0
        partial = [path for path in self._folder.rglob("*#*") if path.stat().st_mtime < before.timestamp()]
        for path in partial:
            path.unlink(missing_ok=True)
        return len(partial)

    def local(self, key: str, cache: Path) -> Path:
        """Return a local path of the blob for memory-mapping: the stored file, or a copy in ``cache``."""
        if self._folder is not None:
            path = self._folder / key
            with store_errors(key):
                path.stat()
            return path
        copy = cache / key
        if not copy.is_file():
            copy.parent.mkdir(parents=True, exist_ok=True)
            with self.open(key) as source, NamedTemporaryFile(dir=copy.parent, delete=False) as target:
                shutil.copyfileobj(source, target, READ_AHEAD)
            os.replace(target.name, copy)  # noqa: PTH105 - the atomic rename, by its usual name
        return copy


def open_blobs(settings: Settings) -> Blobs:
    """Open the blob store of the settings. ``Unavailable`` if that fails."""
    secret = settings.s3_secret_key.get_secret_value() if settings.s3_secret_key else None
    return Blobs(
        settings.blob_url,
        public_endpoint=settings.s3_public_endpoint,
        secret_key=secret,
        scratch=settings.scratch,
        min_free_bytes=settings.min_free_bytes,
    )


class BlobReader(io.RawIOBase):
    """obstore's reader of the blob ``key`` as an ``io.RawIOBase``; ``StoreUnavailable`` if the store fails."""

    def __init__(self, reader: "ReadableFile", key: str) -> None:
        self._reader = reader
        self._key = key

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        with store_errors(self._key):
            return self._reader.seek(offset, whence)

    def tell(self) -> int:
        return self._reader.tell()

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        with store_errors(self._key):
            data = self._reader.read(len(buffer))
        buffer[: len(data)] = memoryview(data)
        return len(data)
