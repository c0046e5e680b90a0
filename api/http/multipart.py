"""Streaming multipart forms: small fields first, then one file, which is never held in memory whole."""

from collections import deque
from collections.abc import AsyncIterator
from dataclasses import dataclass

from fastapi import Request
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header

from api.http import csrf
from api.http.forms import MAX_FIELDS, MAX_FORM_BYTES
from api.http.session_cookies import session_secret
from scorer.errors import Invalid, TooLarge

FORM_MEDIA_TYPE = b"multipart/form-data"
Event = dict[bytes, bytes] | bytes | None
"""The headers of a part that begins, some of its bytes, or None at its end."""


@dataclass(frozen=True)
class UploadForm:
    """The fields that stand before the file, the file's name, and its bytes, to be read once."""

    fields: dict[str, str]
    file_name: str
    chunks: AsyncIterator[bytes]


async def _open_form(content_type: str, body: AsyncIterator[bytes]) -> UploadForm:
    """Read a form up to its file; ``Invalid`` if it is no form, or one without a file."""
    kind, options = parse_options_header(content_type)
    boundary = options.get(b"boundary")
    if kind != FORM_MEDIA_TYPE or not boundary:
        raise Invalid("not-a-form", "This address takes the form of its page.")
    events = _events(body, boundary)
    fields = dict[str, str]()
    async for headers in events:
        if not isinstance(headers, dict) or len(fields) > MAX_FIELDS:
            raise Invalid("not-a-form", "This is not a form of ours.")
        _, disposition = parse_options_header(headers.get(b"content-disposition", b""))
        if disposition.get(b"filename"):
            return UploadForm(fields, _text(disposition[b"filename"]), _part(events))
        if b"filename" in disposition:
            break
        content = b"".join([data async for data in _part(events, MAX_FORM_BYTES)])
        fields[_text(disposition.get(b"name", b""))] = _text(content)
    raise Invalid("no-file", "Choose a file first.")


async def open_page_form(request: Request, body: AsyncIterator[bytes]) -> UploadForm:
    """Read the form of a page up to its file; ``Forbidden`` without the CSRF token of the session."""
    form = await _open_form(request.headers.get("content-type", ""), body)
    csrf.require_csrf(session_secret(request) or "", form.fields.get(csrf.CSRF_FIELD))
    return form


async def drain(body: AsyncIterator[bytes], max_bytes: int) -> None:
    """Read the rest of a refused form, up to ``max_bytes``. Browsers read a response only after they have sent the
    whole request; if it is cut off they show a broken connection."""
    async for chunk in body:
        max_bytes -= len(chunk)
        if max_bytes < 0:
            return


def _text(data: bytes) -> str:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise Invalid("not-a-form", "This is not a form of ours.") from None
    if "\x00" in text:
        raise Invalid("nul-character", "The request has a NUL character in it.")
    return text


async def _part(events: AsyncIterator[Event], limit: int | None = None) -> AsyncIterator[bytes]:
    """The bytes of the current part, up to its end."""
    size = 0
    async for data in events:
        if not isinstance(data, bytes):
            return
        size += len(data)
        if limit is not None and size > limit:
            raise TooLarge("too-large", f"A field may have {limit:,} bytes here.", limit=limit)
        yield data
    raise Invalid("not-a-form", "The form breaks off.")


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
            raise Invalid("not-a-form", "This is not a form of ours.") from None
        while events:
            yield events.popleft()
