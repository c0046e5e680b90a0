"""A page's form with one file in it, read as it arrives: the fields before the file, then the file as a stream."""

from collections.abc import AsyncIterator

from fastapi import Request
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header

from scorer.errors import Invalid, TooLarge

MOST_FIELD_BYTES = 1 << 16
"""Of all that stands before the file."""


def is_upload(request: Request) -> bool:
    """Whether the body says that it is a form with a file in it."""
    kind = request.headers.get("content-type", "").split(";")[0].strip().lower()
    return kind == "multipart/form-data"


class UploadForm:
    """A form of which the file comes last. Nothing of the file is kept."""

    def __init__(self, request: Request) -> None:
        _, options = parse_options_header(request.headers["content-type"])
        boundary = options.get(b"boundary")
        if not boundary:
            raise _not_a_form()
        self.fields: dict[str, str] = {}
        self._stream = request.stream()
        self._parser = MultipartParser(
            boundary,
            {
                "on_part_begin": self._begin_part,
                "on_header_field": lambda data, start, end: self._header.extend(data[start:end]),
                "on_header_value": lambda data, start, end: self._value.extend(data[start:end]),
                "on_header_end": self._end_header,
                "on_headers_finished": self._end_headers,
                "on_part_data": self._take,
                "on_part_end": self._end_part,
            },
        )
        self._begin_part()
        self._in_file = False
        self._file: list[bytes] = []

    async def read_fields(self) -> None:
        """Read on to where the file begins; ``TooLarge`` if that is not soon."""
        arrived = 0
        while not self._in_file and await self._feed():
            arrived += self._fed
            if not self._in_file and arrived > MOST_FIELD_BYTES:
                raise TooLarge("too-large", f"A form may have {MOST_FIELD_BYTES:,} bytes before its file.")

    async def file(self) -> AsyncIterator[bytes]:
        """The bytes of the file."""
        while True:
            for piece in self._file:
                yield piece
            self._file.clear()
            if not await self._feed():
                return

    async def _feed(self) -> bool:
        chunk = await anext(self._stream, None)
        if chunk is None:
            return False
        self._fed = len(chunk)
        try:
            self._parser.write(chunk)
        except FormParserError:
            raise _not_a_form() from None
        return True

    def _begin_part(self) -> None:
        self._header, self._value, self._content = bytearray(), bytearray(), bytearray()
        self._name, self._is_file = "", False

    def _end_header(self) -> None:
        if self._header.lower() == b"content-disposition":
            _, options = parse_options_header(bytes(self._value))
            self._name = options.get(b"name", b"").decode("utf-8", "replace")
            self._is_file = b"filename" in options
        self._header, self._value = bytearray(), bytearray()

    def _end_headers(self) -> None:
        if self._is_file and self._in_file:
            raise _not_a_form()
        self._in_file |= self._is_file

    def _take(self, data: bytes, start: int, end: int) -> None:
        if self._is_file:
            self._file.append(data[start:end])
        elif not self._in_file:
            self._content.extend(data[start:end])

    def _end_part(self) -> None:
        if not self._is_file and not self._in_file:
            self.fields[self._name] = self._content.decode("utf-8", "replace")


def _not_a_form() -> Invalid:
    return Invalid("not-a-form", "This is not a form of ours.")


async def form_of(request: Request) -> UploadForm:
    """The request's form with its fields read, the same for everyone who asks."""
    if not is_upload(request):
        raise Invalid("not-a-form", "This address takes the form of its page.")
    form: UploadForm | None = getattr(request.state, "upload_form", None)
    if form is None:
        form = request.state.upload_form = UploadForm(request)
        await form.read_fields()
    return form
