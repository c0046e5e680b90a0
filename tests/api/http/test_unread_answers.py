"""A connection whose answer nobody reads is ended; one that is read, however slowly, goes on."""

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
"""Bytes, fewer than an application waits for."""


@pytest.mark.parametrize("size", [PIECE, 100 * PIECE], ids=["its last bytes", "most of it"])
@pytest.mark.parametrize("head", [b"", b"Connection: close\r\n"], ids=["kept alive", "closed"])
def test_an_answer_that_nobody_reads_ends_its_connection(
    monkeypatch: pytest.MonkeyPatch, size: int, head: bytes
) -> None:
    """While the application waits for somebody who takes what it has written, and once it has written all of it."""
    monkeypatch.setattr(server_protocol, "UNREAD_SECONDS", 0.2)
    with _small_connection(monkeypatch, size, head) as lost:
        assert lost.wait(60)


def test_an_answer_that_is_read_slowly_goes_on() -> None:
    protocol, loop, transport = _protocol()
    transport.get_write_buffer_size.return_value = 70_000
    protocol.pause_writing()
    for waiting in (69_999, 69_998):
        transport.get_write_buffer_size.return_value = waiting
        _run_timer(loop)
        transport.abort.assert_not_called()
    _run_timer(loop)
    transport.abort.assert_called_once()


def test_a_file_that_is_read_may_fill_what_waits_again_and_again() -> None:
    """As many bytes may wait a minute later, and be others."""
    protocol, loop, transport = _protocol()
    transport.get_write_buffer_size.return_value = 70_000
    for _ in range(2):
        timer = loop.call_later.return_value = Mock()
        protocol.pause_writing()
        protocol.resume_writing()
        timer.cancel.assert_called_once()
    transport.abort.assert_not_called()


def _protocol() -> tuple[BoundedHttpProtocol, Mock, Mock]:
    """A connection with its event loop and its transport."""
    loop, transport = Mock(), Mock()
    config = uvicorn.Config(FastAPI())
    config.load()
    protocol = BoundedHttpProtocol(config, ServerState(), {}, loop)
    protocol.connection_made(transport)
    return protocol, loop, transport


def _run_timer(loop: Mock) -> None:
    """Do what was to be done last, after its time."""
    _, action, *arguments = loop.call_later.call_args.args
    action(*arguments)


@contextmanager
def _small_connection(monkeypatch: pytest.MonkeyPatch, size: int, head: bytes) -> Iterator[threading.Event]:
    """A connection of which the system keeps few bytes, with a request for ``size`` bytes in pieces that nobody reads;
    whether the server has given it up."""
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
