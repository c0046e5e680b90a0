"""A connection ends if nobody reads the response. It continues if the client reads slowly."""

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import Mock
from urllib.parse import urlsplit

import pytest
import uvicorn
from fastapi import FastAPI
from fastapi.responses import StreamingResponse
from uvicorn.server import ServerState

from api.http import server_protocol
from api.http.server_protocol import BoundedHttpProtocol
from tests.http_server import serve

PIECE = 40_000
"""Bytes: fewer than the write buffer that makes an application wait."""


@pytest.mark.parametrize("size", [PIECE, 100 * PIECE], ids=["the last bytes", "most of the response"])
@pytest.mark.parametrize("head", [b"", b"Connection: close\r\n"], ids=["kept alive", "closed"])
def test_an_unread_response_ends_its_connection(monkeypatch: pytest.MonkeyPatch, size: int, head: bytes) -> None:
    """This holds while the application waits to write more, and after it has written everything."""
    monkeypatch.setattr(server_protocol, "UNREAD_SECONDS", 0.2)
    with _small_connection(monkeypatch, size, head) as lost:
        assert lost.wait(60)


def test_a_slowly_read_response_continues() -> None:
    protocol, loop, transport = _protocol()
    transport.get_write_buffer_size.return_value = 70_000
    protocol.pause_writing()
    for waiting in (69_999, 69_998):
        transport.get_write_buffer_size.return_value = waiting
        _run_timer(loop)
        transport.abort.assert_not_called()
    _run_timer(loop)
    transport.abort.assert_called_once()


def test_a_file_may_fill_the_write_buffer_repeatedly() -> None:
    """The same number of bytes may wait a minute later, but they are other bytes."""
    protocol, loop, transport = _protocol()
    transport.get_write_buffer_size.return_value = 70_000
    for _ in range(2):
        timer = loop.call_later.return_value = Mock()
        protocol.pause_writing()
        protocol.resume_writing()
        timer.cancel.assert_called_once()
    transport.abort.assert_not_called()


def _protocol() -> tuple[BoundedHttpProtocol, Mock, Mock]:
    """Return a connection with its event loop and transport."""
    loop, transport = Mock(), Mock()
    config = uvicorn.Config(FastAPI())
    config.load()
    protocol = BoundedHttpProtocol(config, ServerState(), {}, loop)
    protocol.connection_made(transport)
    return protocol, loop, transport


def _run_timer(loop: Mock) -> None:
    """Run the action that was scheduled last."""
    _, action, *arguments = loop.call_later.call_args.args
    action(*arguments)


@contextmanager
def _small_connection(monkeypatch: pytest.MonkeyPatch, size: int, head: bytes) -> Iterator[threading.Event]:
    """Open a connection with small system buffers and request ``size`` bytes that nobody reads. The event is set when
    the server has closed the connection."""
    app = FastAPI()
    app.add_route("/", lambda _: StreamingResponse(iter([b"x" * PIECE] * (size // PIECE))))
    lost = threading.Event()
    made, was_lost = BoundedHttpProtocol.connection_made, BoundedHttpProtocol.connection_lost

    def connection_made(self: BoundedHttpProtocol, transport: asyncio.Transport) -> None:
        transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1)
        made(self, transport)

    def connection_lost(self: BoundedHttpProtocol, exc: Exception | None) -> None:
        was_lost(self, exc)
        lost.set()

    monkeypatch.setattr(BoundedHttpProtocol, "connection_made", connection_made)
    monkeypatch.setattr(BoundedHttpProtocol, "connection_lost", connection_lost)
    with serve(app) as address, socket.socket() as raw:
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
        raw.settimeout(60)
        raw.connect(("127.0.0.1", urlsplit(address).port or 0))
        raw.sendall(b"GET / HTTP/1.1\r\nHost: k\r\n" + head + b"\r\n")
        yield lost
