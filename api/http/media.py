"""Response headers of files, and their bytes in chunks."""

from collections.abc import Iterator
from typing import BinaryIO

INERT_HEADERS = {"X-Content-Type-Options": "nosniff", "Content-Security-Policy": "default-src 'none'; sandbox"}
"""For uploaded files: a browser must not run them as a page or script of this site."""
IMMUTABLE_IMAGE_HEADERS = {"Cache-Control": "private, max-age=31536000, immutable", "Vary": "Authorization, Cookie"}
"""An entry never changes, so its image may be cached for a year; by one browser and for one person only."""
UNSTORED_IMAGE_HEADERS = INERT_HEADERS | {"Cache-Control": "private, no-store"}
"""For images of reviews: no browser and no proxy stores them."""
CHUNK_BYTES = 1 << 18


def chunks_of(file: BinaryIO) -> Iterator[bytes]:
    """A file's bytes in chunks; closes it at the end."""
    with file:
        while chunk := file.read(CHUNK_BYTES):
            yield chunk
