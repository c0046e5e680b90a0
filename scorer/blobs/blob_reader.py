"""Reads a blob as a file."""

import io
from typing import TYPE_CHECKING

from scorer.blobs.store_errors import store_errors

if TYPE_CHECKING:  # obstore names this type for type checkers only
    from obstore import ReadableFile


class BlobReader(io.RawIOBase):
    """obstore's reader of the blob ``key`` as an ``io.RawIOBase``; ``StoreUnavailable`` where the store fails."""

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
