"""Streams multipart forms: the CSRF token, small fields, then one file, which is never completely in memory."""

from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from fastapi import Request
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header

from api.http import csrf
from api.http.forms import MAX_FIELDS
from api.http.request_bodies import streamed_body
from api.http.session_cookies import session_secret
from scorer.errors import Invalid, KennelError, TooLarge

FORM_MEDIA_TYPE = b"multipart/form-data"
MAX_BYTES_BEFORE_FILE = 1 << 16
"""The limit for everything before the file: the fields with their names and headers."""
Event = dict[bytes, bytes] | bytes | None
"""The headers at the start of a part, some of its bytes, or None at its end."""


@dataclass(frozen=True)
class UploadForm:
    """``fields`` are those before the file; ``chunks`` are the file's bytes and can be read once."""

    fields: dict[str, str]
    file_name: str
    chunks: AsyncIterator[bytes]


@asynccontextmanager
async def page_form(request: Request, account_id: int, *, max_bytes: int) -> AsyncIterator[UploadForm]:
    """A page's form, read up to its file. After a refusal here or in the block, reads up to ``max_bytes`` of the rest
    (:func:`drain`)."""
    body = streamed_body(request, account_id)
    try:
        yield await _open_form(request, body)
    except KennelError:
        await drain(body, max_bytes)
        raise


async def _open_form(request: Request, body: AsyncIterator[bytes]) -> UploadForm:
    """Read a form up to its file.

    Raises ``Forbidden`` unless the first field is the session's CSRF token, ``Invalid`` if the body is not a form or
    has no file, and ``TooLarge`` for more than ``MAX_BYTES_BEFORE_FILE`` before the file.
    """
    kind, options = parse_options_header(request.headers.get("content-type", ""))
    boundary = options.get(b"boundary")
    if kind != FORM_MEDIA_TYPE or not boundary:
        raise Invalid("not-a-form", "This address only accepts the form on its page.")
    bytes_before_file = _BytesBeforeFile(body)
    events = _events(bytes_before_file.pieces(), boundary)
    fields = dict[str, str]()
    async for headers in events:
        if not isinstance(headers, dict) or len(fields) > MAX_FIELDS:
            raise Invalid("not-a-form", "The form is malformed. Reload the page and submit the form again.")
        _, disposition = parse_options_header(headers.get(b"content-disposition", b""))
        name, file_name = _text(disposition.get(b"name", b"")), disposition.get(b"filename")
        if not fields:
            token = await _field(events) if name == csrf.CSRF_FIELD and file_name is None else None
            csrf.require_csrf(session_secret(request) or "", token)
            fields[name] = token or ""
        elif file_name is None:
            fields[name] = await _field(events)
        elif file_name:
            bytes_before_file.end()
            return UploadForm(fields, _text(file_name), _part(events))
        else:
            break
    raise Invalid("no-file", "Choose a file.")


class _BytesBeforeFile:
    """The bytes of a form, limited until :meth:`end` is called."""

    def __init__(self, body: AsyncIterator[bytes]) -> None:
        self._body = body
        self._room: int | None = MAX_BYTES_BEFORE_FILE

    def end(self) -> None:
        self._room = None

    async def pieces(self) -> AsyncIterator[bytes]:
        """The bytes, in pieces that fit the remaining room."""
        async for chunk in self._body:
            rest = chunk
            while rest and self._room is not None:
                if not self._room:
                    limit = MAX_BYTES_BEFORE_FILE
                    raise TooLarge(
                        "too-large",
                        f"The form has too much data before its file. The limit is {limit:,} bytes.",
                        limit=limit,
                    )
                piece, rest = rest[: self._room], rest[self._room :]
                self._room -= len(piece)
                yield piece
            if rest:
                yield rest


async def drain(body: AsyncIterator[bytes], max_bytes: int) -> None:
    """Read the rest of a refused form, up to ``max_bytes``. Browsers read a response only after sending the whole
    request; if the connection closes earlier, they show a connection error."""
    async for chunk in body:
        max_bytes -= len(chunk)
        if max_bytes < 0:
            return


def _text(data: bytes) -> str:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise Invalid("not-a-form", "The form is malformed. Reload the page and submit the form again.") from None
    if "\x00" in text:
        raise Invalid("nul-character", "The request contains a NUL character. Remove it.")
    return text


async def _field(events: AsyncIterator[Event]) -> str:
    return _text(b"".join([data async for data in _part(events)]))


async def _part(events: AsyncIterator[Event]) -> AsyncIterator[bytes]:
    async for data in events:
        if not isinstance(data, bytes):
            return
        yield data
    raise Invalid("not-a-form", "The form is incomplete. Submit it again.")


async def _events(chunks: AsyncIterator[bytes], boundary: bytes) -> AsyncIterator[Event]:
    events: deque[Event] = deque()
    name = bytearray()
    value = bytearray()
    headers = dict[bytes, bytes]()

    def end_header() -> None:
        headers[bytes(name).lower()] = bytes(value)
        name.clear()
        value.clear()

    def end_headers() -> None:
        events.append(dict(headers))
        headers.clear()

    parser = MultipartParser(
        boundary,
        {
            "on_header_field": lambda data, start, end: name.extend(data[start:end]),
            "on_header_value": lambda data, start, end: value.extend(data[start:end]),
            "on_header_end": end_header,
            "on_headers_finished": end_headers,
            "on_part_data": lambda data, start, end: events.append(data[start:end]),
            "on_part_end": lambda: events.append(None),
        },
    )
    async for chunk in chunks:
        try:
            parser.write(chunk)
        except FormParserError:
            raise Invalid("not-a-form", "The form is malformed. Reload the page and submit the form again.") from None
        while events:
            yield events.popleft()
