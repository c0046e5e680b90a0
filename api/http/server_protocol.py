"""The HTTP protocol of the web server: uvicorn's, with limits on headers and on bodies that nobody reads.

Uvicorn ends a connection that is idle between two requests. One that sends its headers slowly, or never, or goes on
sending a body that was refused, it keeps for ever.
"""

from asyncio import TimerHandle, Transport

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEADER_SECONDS = 20.0
"""From the connection, or from a request's first byte, until its headers are complete."""
MAX_HEADER_BYTES = 1 << 16
DRAIN_SECONDS = 60.0
"""How long the rest of a body is taken, and dropped, after the answer: many clients read it only then."""


class BoundedHttpProtocol(HttpToolsProtocol):
    """Closes connections that exceed the limits."""

    _timer: TimerHandle | None = None
    _header_bytes = 0
    _awaits_headers = True
    _message_is_complete = True

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        """Start the time for the first headers."""
        super().connection_made(transport)
        self._start_timer(HEADER_SECONDS)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the time."""
        self._stop_timer()
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
        """Start the time for the rest of a body that the answer did not wait for."""
        super().on_response_complete()
        if not self._message_is_complete and not self.transport.is_closing():
            self._start_timer(DRAIN_SECONDS)

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
