"""The HTTP protocol of the web server: uvicorn's, with limits on headers, on bodies that nobody reads and on answers
that nobody takes.

Uvicorn ends a connection that is idle between two requests. One that sends its headers slowly, or never, or goes on
sending a body that was refused, or takes no byte of its answer, it keeps for ever.
"""

from asyncio import TimerHandle, Transport

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEADER_SECONDS = 20.0
"""From the connection, or from a request's first byte, until its headers are complete."""
MAX_HEADER_BYTES = 1 << 16
UNREAD_SECONDS = 60.0
"""How long the bytes of an answer wait for somebody who takes none of them."""
DRAIN_SECONDS = 60.0
"""How long the rest of a body is taken, and dropped, after the answer: many clients read it only then."""


class BoundedHttpProtocol(HttpToolsProtocol):
    """Closes connections that exceed the limits."""

    _timer: TimerHandle | None = None
    _unread_timer: TimerHandle | None = None
    _header_bytes = 0
    _awaits_headers = True
    _message_is_complete = True

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        """Start the time for the first headers."""
        super().connection_made(transport)
        self._start_timer(HEADER_SECONDS)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the times."""
        self._stop_timer()
        self._stop_unread_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse bytes, and count those of headers that are not complete with them."""
        super().data_received(data)
        if self._awaits_headers:
            self._header_bytes += len(data)
            if self._header_bytes > MAX_HEADER_BYTES:
                self.transport.close()

    def on_message_begin(self) -> None:
        """Start the time for the headers of another request."""
        super().on_message_begin()
        self._message_is_complete = False
        self._awaits_headers = True
        if self._timer is None:
            self._start_timer(HEADER_SECONDS)

    def on_headers_complete(self) -> None:
        """Stop the time for headers."""
        self._stop_timer()
        self._awaits_headers = False
        self._header_bytes = 0
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Stop the time for the rest of a body."""
        self._message_is_complete = True
        self._stop_timer()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Start the time for the rest of a body that the answer did not wait for, and for the answer's last bytes."""
        super().on_response_complete()
        self._watch_unread_bytes()
        if not self._message_is_complete and not self.transport.is_closing():
            self._start_timer(DRAIN_SECONDS)

    def pause_writing(self) -> None:
        """Start the time for an answer of which so many bytes wait that its application does."""
        super().pause_writing()
        self._watch_unread_bytes()

    def resume_writing(self) -> None:
        """Stop that time: bytes have been taken, and others may take their place."""
        self._stop_unread_timer()
        super().resume_writing()

    def _watch_unread_bytes(self) -> None:
        waiting = self.transport.get_write_buffer_size()
        if waiting and self._unread_timer is None:
            self._unread_timer = self.loop.call_later(UNREAD_SECONDS, self._end_unread, waiting)

    def _end_unread(self, waited: int) -> None:
        """End the connection if none of the bytes that waited has been taken. Closing it would wait for them."""
        self._unread_timer = None
        if self.transport.get_write_buffer_size() >= waited:
            self.transport.abort()
        else:
            self._watch_unread_bytes()

    def _stop_unread_timer(self) -> None:
        if self._unread_timer is not None:
            self._unread_timer.cancel()
            self._unread_timer = None

    def _start_timer(self, seconds: float) -> None:
        self._stop_timer()
        self._timer = self.loop.call_later(seconds, self._end)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _end(self) -> None:
        self._timer = None
        if not self.transport.is_closing():
            self.transport.close()
