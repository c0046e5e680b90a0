"""Reads a blob as a file."""

import io
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # obstore names this type for type checkers only
    from obstore import ReadableFile


class BlobReader(io.RawIOBase):
    """obstore's reader as an ``io.RawIOBase``."""

    def __init__(self, reader: "ReadableFile") -> None:
        self._reader = reader

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        return self._reader.seek(offset, whence)

    def tell(self) -> int:
        return self._reader.tell()

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        data = self._reader.read(len(buffer))
        buffer[: len(data)] = memoryview(data)
        return len(data)
