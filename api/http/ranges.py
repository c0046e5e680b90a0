"""Range requests (RFC 9110, section 14) for large files and for zips of many files."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from email.utils import format_datetime
from itertools import chain
from typing import BinaryIO

from fastapi import Request
from fastapi.responses import Response, StreamingResponse

from api.http.etags import is_known
from api.http.security_headers import INERT_HEADERS
from scorer.blobs import Blobs

CHUNK_BYTES = 1 << 18
RANGE = re.compile(r"bytes=(\d{1,18})?-(\d{1,18})?")


@dataclass(frozen=True)
class BlobPart:
    key: str
    bytes: int


@dataclass(frozen=True)
class Content:
    """The parts of a complete response, in order. ``sha256`` (hex) is its ETag."""

    name: str
    parts: Sequence[bytes | BlobPart]
    sha256: str
    modified: datetime

    @property
    def bytes(self) -> int:
        return sum(_size(part) for part in self.parts)


def _size(part: bytes | BlobPart) -> int:
    return part.bytes if isinstance(part, BlobPart) else len(part)


def range_response(request: Request, content: Content, store: Blobs) -> Response:
    """The content (200), the single requested range (206), or no body if the client already has the content (304).
    It is sent as an attachment: a browser must not run an organizer's file as a page of this site."""
    etag = f'"{content.sha256}"'
    modified = format_datetime(content.modified, usegmt=True)
    size = content.bytes
    headers = INERT_HEADERS | {
        "ETag": etag,
        "Last-Modified": modified,
        "Accept-Ranges": "bytes",
        "Cache-Control": "private, no-cache",
        "Vary": "Authorization, Cookie",
    }
    if is_known(request, etag):
        return Response(status_code=304, headers=headers)
    current = request.headers.get("if-range", etag) in {etag, modified}
    requested = requested_range(request.headers.get("range", ""), size) if current else None
    if requested is not None and not requested:
        return Response(status_code=416, headers=headers | {"Content-Range": f"bytes */{size}"})
    sent = requested or range(size)
    headers |= {
        "Content-Length": str(len(sent)),
        "Content-Disposition": f'attachment; filename="{content.name}"',
        **({"Content-Range": f"bytes {sent.start}-{sent.stop - 1}/{size}"} if requested else {}),
    }
    body = _bytes(content.parts, sent, store)
    first = next(body, b"")  # an error of the store can only be reported before the headers are sent
    return StreamingResponse(
        chain([first], body), 206 if requested else 200, headers=headers, media_type="application/octet-stream"
    )


def requested_range(header: str, size: int) -> range | None:
    """The bytes that a ``Range`` header requests; empty if the range is outside the file.

    None means all bytes: without a header, and for several ranges or other units, which a server may ignore.
    """
    match = RANGE.fullmatch(header.strip())
    if match is None or match.group(1) is match.group(2) is None:
        return None
    first, last = (int(group) if group is not None else None for group in match.groups())
    if first is None:
        return range(max(0, size - (last or 0)), size)
    if last is not None and last < first:
        return None
    return range(first, min(size, size if last is None else last + 1))


def _bytes(parts: Sequence[bytes | BlobPart], wanted: range, store: Blobs) -> Iterator[bytes]:
    offset = 0
    for part in parts:
        start = max(wanted.start - offset, 0)
        stop = min(wanted.stop - offset, _size(part))
        offset += _size(part)
        if start >= stop:
            continue
        if isinstance(part, BlobPart):
            yield from _stored(part, start, stop, store=store)
        else:
            yield part[start:stop]


def _stored(part: BlobPart, start: int, stop: int, *, store: Blobs) -> Iterator[bytes]:
    with store.open(part.key) as file:
        file.seek(start)
        while start < stop and (chunk := file.read(min(CHUNK_BYTES, stop - start))):
            yield chunk
            start += len(chunk)


def read_chunks(file: BinaryIO) -> Iterator[bytes]:
    """The file's bytes in chunks; closes the file at the end."""
    with file:
        while chunk := file.read(CHUNK_BYTES):
            yield chunk
