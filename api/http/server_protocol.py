"""The HTTP protocol of the web server: uvicorn's with additional limits.

It limits connections, TLS handshakes, headers, trailers, chunk sizes, pipelined requests, unread request bodies and
unread responses. Uvicorn itself only limits the idle time between two requests.
"""

import resource
from asyncio import TimerHandle, Transport
from collections.abc import Coroutine
from ssl import SSLContext
from typing import Any

import uvloop
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from api.http.client_address import is_trusted
from api.http.rate_limits import find_network

MAX_CONNECTIONS = 2048
"""Per process, and at most half of its limit on open files."""
MAX_CONNECTIONS_PER_ADDRESS = 256
"""Per network address and process. Trusted proxies only have the limit ``MAX_CONNECTIONS``."""
HEADER_SECONDS = 20.0
"""From the connection, or from a request's first byte, until the headers are complete. It includes the TLS
handshake."""
MAX_HEADER_BYTES = 1 << 16
"""For the headers of a request, and again for everything after them except the body: chunk sizes, their extensions and
trailers."""
MAX_HEADERS = 128
MAX_PIPELINED = 16
"""Requests of one connection that wait for the response to an earlier request."""
FRAMING_BYTES = 16
"""Bytes of chunk sizes and extensions per byte of the body, in addition to ``MAX_HEADER_BYTES``."""
UNREAD_SECONDS = 60.0
"""How long the bytes of a response wait for a client that reads none of them."""
DRAIN_SECONDS = 60.0
"""How long the rest of a body is read and dropped after the response: many clients read the response only when they
have sent everything."""


class ServerLoop(uvloop.Loop):
    """An event loop that leaves TLS to the protocol. Otherwise the protocol would get a connection only after its
    handshake, and nothing would count or end connections that never complete it."""

    async def create_server(self, *args: Any, **options: Any) -> Any:
        return await super().create_server(*args, **options | {"ssl": None})


class BoundedHttpProtocol(HttpToolsProtocol):
    """Closes connections that exceed the limits. With ``ServerLoop``, it uses TLS if uvicorn has a certificate."""

    _timer: TimerHandle | None = None
    _unread_timer: TimerHandle | None = None
    _early_data: bytes | None = None
    """Bytes that arrived with the end of the TLS handshake; None outside a handshake."""
    _header_bytes = 0
    _awaits_headers = True
    _message_is_complete = True
    network: str | None = None
    """The network address of the connection; None for a trusted proxy."""
    idle_since: float | None = None
    """Since when the connection waits for the headers of a request; None while a request is in progress."""

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        """Count the connection and start the timer for the TLS handshake and the first headers."""
        super().connection_made(transport)
        self.idle_since = self.loop.time()
        if self.client and not is_trusted(self.client[0], self.app_state.get("trusted_proxies", ())):
            self.network = find_network(self.client[0])
        context = None if transport.get_extra_info("sslcontext") else self.config.ssl
        if context:
            self._early_data = b""
        if self._exceeds_connection_limit():
            self._refuse(503)
            return
        self._start_timer(HEADER_SECONDS)
        if context:
            self._begin_tls(transport, context)

    def _begin_tls(self, transport: Transport, context: SSLContext) -> None:
        """Begin the handshake. The coroutine's first step, which passes the connection's bytes to TLS, runs here:
        uvloop would read from the connection before a task runs it."""
        handshake = self.loop.start_tls(transport, self, context, server_side=True)
        handshake.send(None).add_done_callback(lambda _: self._end_handshake(handshake))

    def _end_handshake(self, handshake: Coroutine[Any, Any, Transport | None]) -> None:
        encrypted = None
        try:
            handshake.send(None)
        except StopIteration as end:
            encrypted = end.value
        except OSError:  # not TLS, or the peer disconnected
            self.transport.abort()
        if encrypted is None or encrypted.is_closing():
            self.connection_lost(None)
            return
        data, self._early_data = self._early_data, None
        super().connection_made(encrypted)
        self.data_received(data or b"")

    def _exceeds_connection_limit(self) -> bool:
        """Whether the process or the address has too many connections. If only the process has, the connection that
        has been idle the longest is ended instead, if any is idle."""
        others = [other for other in self.connections if isinstance(other, BoundedHttpProtocol) and other is not self]
        if self.network and sum(other.network == self.network for other in others) >= MAX_CONNECTIONS_PER_ADDRESS:
            return True
        if len(others) < min(MAX_CONNECTIONS, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2):
            return False
        idle = [(other.idle_since, other) for other in others if other.idle_since is not None]
        if not idle:
            return True
        _, longest = min(idle, key=lambda waiting: waiting[0])
        longest.idle_since = None
        longest.transport.abort()
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        self._stop_unread_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse bytes, with a limit on everything except the body."""
        if self._early_data is not None:
            self._early_data += data
            return
        while data and not self.transport.is_closing():
            room = MAX_HEADER_BYTES - self._header_bytes
            if room <= 0:
                self._refuse(431)
                return
            piece, data = data[:room], data[room:]
            self._header_bytes += len(piece)
            super().data_received(piece)

    def on_message_begin(self) -> None:
        if len(self.pipeline) >= MAX_PIPELINED:
            raise ValueError("too many requests wait for a response")
        super().on_message_begin()
        self._message_is_complete = False
        self._awaits_headers = True
        if self._timer is None:
            self._start_timer(HEADER_SECONDS)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep a header, but drop trailers: nothing reads them, and they must not become headers.

        Backslashes of cookies are also dropped. Kennel's cookies have none, and before 3.11.10 and 3.12.6 Python's
        ``http.cookies`` needs quadratic time for them (CVE-2024-7592).
        """
        if self._awaits_headers:
            if len(self.headers) >= MAX_HEADERS:
                raise ValueError("too many headers")
            super().on_header(name, value.replace(b"\\", b"") if name.lower() == b"cookie" else value)

    def on_headers_complete(self) -> None:
        """Stop the timer for headers. ``Upgrade`` to another protocol is not supported."""
        self._stop_timer()
        self._awaits_headers = False
        self._header_bytes = 0
        self.idle_since = None
        upgrades = self.parser.should_upgrade()
        if upgrades and self._has_body():
            raise ValueError("a request with a body asks for another protocol")
        super().on_headers_complete()
        if upgrades:
            self.cycle.keep_alive = False

    def _has_body(self) -> bool:
        """Whether a body follows the headers. httptools does not read the body of an upgrade request: behind a proxy,
        the body would be parsed as a request, and its response would go to somebody else."""
        return any(
            name == b"transfer-encoding" or (name == b"content-length" and value != b"0")
            for name, value in self.headers
        )

    def on_body(self, body: bytes) -> None:
        """Do not count the body, and allow bytes for its chunk sizes."""
        self._header_bytes = max(0, self._header_bytes - (1 + FRAMING_BYTES) * len(body))
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._message_is_complete = True
        self._header_bytes = 0
        self._stop_timer()
        super().on_message_complete()
        self._note_idleness()

    def on_response_complete(self) -> None:
        """Start the timers for the unread rest of the body and for the last bytes of the response."""
        super().on_response_complete()
        self._watch_unread_bytes()
        self._note_idleness()
        if not self._message_is_complete and not self.transport.is_closing():
            self._start_timer(DRAIN_SECONDS)

    def _note_idleness(self) -> None:
        if self._message_is_complete and self.cycle.response_complete and not self.pipeline:
            self.idle_since = self.loop.time()

    def pause_writing(self) -> None:
        """Start the timer for unread bytes: so much of the response is waiting that the application has to wait."""
        super().pause_writing()
        self._watch_unread_bytes()

    def resume_writing(self) -> None:
        """Stop the timer: the client has read some bytes."""
        self._stop_unread_timer()
        super().resume_writing()

    def _watch_unread_bytes(self) -> None:
        waiting = self.transport.get_write_buffer_size()
        if waiting and self._unread_timer is None:
            self._unread_timer = self.loop.call_later(UNREAD_SECONDS, self._end_unread, waiting)

    def _end_unread(self, waited: int) -> None:
        """Abort the connection if the client read none of the waiting bytes. Closing it would wait for them."""
        self._unread_timer = None
        if self.transport.get_write_buffer_size() >= waited:
            self.transport.abort()
        else:
            self._watch_unread_bytes()

    def _stop_unread_timer(self) -> None:
        if self._unread_timer is not None:
            self._unread_timer.cancel()
            self._unread_timer = None

    def _refuse(self, status: int) -> None:
        """Close the connection, with a response unless another one is in progress."""
        waits = self._awaits_headers and (self.cycle is None or self.cycle.response_complete)
        if waits and self._early_data is None:
            self.transport.write(STATUS_LINE[status] + b"content-length: 0\r\nconnection: close\r\n\r\n")
        self.transport.close()

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
