"""Media types and headers of files that are sent, and their bytes in chunks."""

from collections.abc import Iterator
from typing import BinaryIO

INERT_HEADERS = {"X-Content-Type-Options": "nosniff", "Content-Security-Policy": "default-src 'none'; sandbox"}
"""What somebody else made is never run by the browser of whoever looks at it."""
IMMUTABLE_IMAGE_HEADERS = {"Cache-Control": "private, max-age=31536000, immutable", "Vary": "Authorization, Cookie"}
"""An entry never changes, so neither does its picture; another person at the same browser asks anew."""
CHUNK_BYTES = 1 << 18


def _chunks(file: BinaryIO) -> Iterator[bytes]:
    with file:
        while chunk := file.read(CHUNK_BYTES):
            yield chunk
