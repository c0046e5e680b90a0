"""Connections, headers, trailers and chunk sizes over the limits end before they cost memory."""

import resource
import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from ipaddress import ip_network
from pathlib import Path
from time import monotonic, sleep
from urllib.parse import urlsplit

import httpx
import pytest
from fastapi import FastAPI, Request
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from api.http import server_protocol
from api.http.request_bodies import RequestBodies, streamed_body
from api.http.server_protocol import MAX_HEADER_BYTES, MAX_HEADERS, MAX_PIPELINED, BoundedHttpProtocol
from api.main import create_app
from scorer.process_resources import raise_open_files_limit
from scorer.settings import Settings
from tests.http_server import self_signed_certificate, serve

GET = b"GET / HTTP/1.1\r\nHost: kennel\r\n"
STATUS = b"GET /healthz HTTP/1.1\r\nHost: kennel\r\nConnection: close\r\n\r\n"
CHUNKED = b"POST /sizes HTTP/1.1\r\nHost: kennel\r\nTransfer-Encoding: chunked\r\n\r\n"
MAX_TAKEN = 16 << 20
"""More bytes than the kernel buffers for a connection that nobody reads."""


def _app() -> FastAPI:
    app = FastAPI()

    @app.get("/")
    async def list_headers(request: Request) -> list[str]:
        return [name for name, _ in request.headers.items()]

    @app.get("/healthz")
    async def answer() -> None:
        """Respond with an empty body."""

    @app.post("/")
    async def list_headers_after_body(request: Request) -> list[str]:
        await request.body()
        return [name.decode() for name, _ in request.scope["headers"]]

    @app.get("/cookies")
    async def read_cookies(request: Request) -> dict[str, str]:
        return request.cookies

    @app.post("/sizes")
    async def count(request: Request) -> int:
        return sum([len(chunk) async for chunk in streamed_body(request, 1)])

    app.add_middleware(RequestBodies)
    return app


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with serve(_app()) as address:
        yield address


def _connect(address: str, data: bytes = b"", source: str = "127.0.0.1") -> socket.socket:
    raw = socket.create_connection(("127.0.0.1", urlsplit(address).port or 0), timeout=60, source_address=(source, 0))
    raw.sendall(data)
    return raw


def _answer(raw: socket.socket) -> bytes:
    """Read until the server closes the connection."""
    answer = b""
    try:
        while data := raw.recv(1 << 16):
            answer += data
    except ConnectionResetError:
        pass
    return answer


def _is_closed_after(raw: socket.socket, block: bytes) -> bool:
    """Send a block repeatedly. Return whether the server closes the connection within ``MAX_TAKEN`` bytes."""
    try:
        for _ in range(MAX_TAKEN // len(block)):
            raw.sendall(block)
    except (BrokenPipeError, ConnectionResetError):
        return True
    return False


@pytest.mark.parametrize(
    ("head", "block"),
    [
        (GET + b"Transfer-Encoding: chunked\r\n\r\n0\r\n", b"x: " + b"a" * 60 + b"\r\n"),
        (GET + b"Transfer-Encoding: chunked\r\n\r\n0\r\nx: ", b"a" * 60),
        (CHUNKED + b"0\r\n", b"x: " + b"a" * 60 + b"\r\n"),
        (CHUNKED + b"1;x=", b"a" * 60),
        (CHUNKED, b"1;" + b"a" * 6000 + b"\r\nx\r\n"),
    ],
    ids=["trailers", "one trailer", "trailers of a read body", "a chunk's extension", "chunks' extensions"],
)
def test_bytes_after_the_headers_outside_a_body_are_limited(address: str, head: bytes, block: bytes) -> None:
    with _connect(address, head) as raw:
        assert _is_closed_after(raw, block * 1000)


def test_the_parser_gets_no_more_than_the_limit(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[int] = []
    parse = HttpToolsProtocol.data_received

    def data_received(self: BoundedHttpProtocol, data: bytes) -> None:
        parsed.append(len(data))
        parse(self, data)

    monkeypatch.setattr(HttpToolsProtocol, "data_received", data_received)
    with _connect(address, GET + b"x: " + b"a" * (2 * MAX_HEADER_BYTES)) as raw:
        assert _answer(raw).startswith(b"HTTP/1.1 431 ")
    assert sum(parsed) == MAX_HEADER_BYTES


def test_complete_headers_beyond_the_limit_are_refused(address: str) -> None:
    with _connect(address, GET + b"x: " + b"a" * MAX_HEADER_BYTES + b"\r\n\r\n") as raw:
        assert _answer(raw).startswith(b"HTTP/1.1 431 ")


def test_many_headers_are_refused(address: str) -> None:
    with _connect(address, GET + b"x: y\r\n" * MAX_HEADERS + b"\r\n") as raw:
        assert _answer(raw).startswith(b"HTTP/1.1 400 ")


def test_escapes_in_cookies_are_not_decoded(address: str) -> None:
    headers = {"Cookie": r'a="\"\101\""; b="/c%2Fd"; e=f'}
    cookies = httpx.get(f"{address}/cookies", headers=headers, trust_env=False).json()
    assert cookies == {"a": '"101"', "b": "/c%2Fd", "e": "f"}


def test_trailers_are_not_read_as_headers(address: str) -> None:
    request = b"POST / HTTP/1.1\r\nHost: kennel\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
    with _connect(address, request + b"1\r\nx\r\n0\r\nX-Forwarded-For: 192.0.2.1\r\n\r\n") as raw:
        answer = _answer(raw)
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert b"x-forwarded-for" not in answer


@pytest.mark.parametrize("length", [f"Content-Length: {len(STATUS)}", "Transfer-Encoding: chunked"])
def test_an_upgrade_requests_body_is_not_read_as_a_request(address: str, length: str) -> None:
    head = f"POST / HTTP/1.1\r\nHost: kennel\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n{length}\r\n\r\n"
    with _connect(address, head.encode()) as raw:
        answer = raw.recv(1 << 16)
        with suppress(OSError):
            raw.sendall(STATUS)
        answer += _answer(raw)
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert answer.count(b"HTTP/1.1 ") == 1


def test_an_upgrade_request_ends_its_connection(address: str) -> None:
    with _connect(address, GET + b"Connection: Upgrade\r\nUpgrade: h2c\r\n\r\n") as raw:
        answer = _answer(raw)
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert b"\r\nconnection: close\r\n" in answer


def test_small_chunks_and_large_bodies_pass(address: str) -> None:
    with _connect(address, CHUNKED) as raw:
        for _ in range(4):
            raw.sendall(b"1\r\nx\r\n" * MAX_HEADER_BYTES)
        raw.sendall(b"0\r\n\r\n")
        assert b" 200 " in raw.recv(1 << 16)
    content = b"x" * (40 * MAX_HEADER_BYTES)
    assert httpx.post(f"{address}/sizes", content=content, trust_env=False).json() == len(content)


def test_the_number_of_pipelined_requests_is_limited() -> None:
    app = _app()
    answered: list[int] = []

    @app.post("/waits")
    async def wait(request: Request) -> int:
        answered.append(1)
        return len(await request.body())

    first = b"POST /waits HTTP/1.1\r\nHost: kennel\r\nContent-Length: 1\r\n\r\nx"
    with serve(app) as address:
        with _connect(address, (GET + b"\r\n") * (MAX_PIPELINED + 1)) as raw:
            raw.settimeout(60)
            assert _count(raw, b"HTTP/1.1 200", MAX_PIPELINED + 1) == MAX_PIPELINED + 1
        with _connect(address, first * 1000) as raw:
            _answer(raw)
    assert len(answered) <= MAX_PIPELINED + 1


def _count(raw: socket.socket, what: bytes, wanted: int) -> int:
    data = b""
    while data.count(what) < wanted and (part := raw.recv(1 << 16)):
        data += part
    return data.count(what)


def test_the_connections_of_an_address_are_limited(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_protocol, "MAX_CONNECTIONS_PER_ADDRESS", 3)
    with ExitStack() as held:
        for _ in range(3):
            held.enter_context(_connect(address, source="127.0.0.2"))
        with _connect(address, source="127.0.0.2") as raw:
            assert _answer(raw).startswith(b"HTTP/1.1 503 ")
        assert httpx.get(address, trust_env=False).status_code == 200, "another address has its own limit"
    _wait_until(lambda: _status(address, "127.0.0.2") == b"200")


def test_a_trusted_proxy_has_no_limit_per_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_protocol, "MAX_CONNECTIONS_PER_ADDRESS", 1)
    settings = Settings(
        database_url="postgresql://x@127.0.0.1:1/x",
        redis_url="redis://127.0.0.1:1",
        blob_url="file:///tmp",
        trusted_proxies=(ip_network("127.0.0.3/32"),),
    )
    with (
        serve(create_app(settings), lifespan="on") as address,
        _connect(address, source="127.0.0.2"),
        _connect(address, source="127.0.0.3"),
    ):
        assert (_status(address, "127.0.0.2"), _status(address, "127.0.0.3")) == (b"503", b"200")


def test_a_new_connection_replaces_the_longest_waiting_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_protocol, "MAX_CONNECTIONS", 2)
    begun = CHUNKED + b"1\r\nx\r\n"
    with serve(_app()) as address, _connect(address, begun), _connect(address, GET) as oldest:
        assert _status(address) == b"200"
        assert _answer(oldest) == b""
        with _connect(address, begun):
            _wait_until(lambda: _status(address) == b"503")


@pytest.mark.parametrize("data", [b"", GET + b"\r\n"], ids=["silence", "no TLS"])
def test_a_tls_handshake_has_a_time_limit(data: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_protocol, "HEADER_SECONDS", 0.2)
    with (
        serve(_app(), certificate=self_signed_certificate(tmp_path, "kennel")) as address,
        _connect(address, data) as raw,
    ):
        raw.settimeout(30)  # asyncio ends a handshake after 60 s
        assert not _answer(raw).startswith(b"HTTP/")


def test_a_request_may_arrive_with_the_end_of_the_tls_handshake(tmp_path: Path) -> None:
    chain, key = self_signed_certificate(tmp_path, "kennel")
    received, sent = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = ssl.create_default_context(cafile=chain).wrap_bio(received, sent, server_hostname="kennel")
    with serve(_app(), certificate=(chain, key)) as address, _connect(address) as raw:
        while True:
            try:
                client.do_handshake()
                break
            except ssl.SSLWantReadError:
                raw.sendall(sent.read())
                received.write(raw.recv(1 << 16))
        client.write(STATUS)
        raw.sendall(sent.read())
        received.write(_answer(raw))
        assert client.read(1 << 16).startswith(b"HTTP/1.1 200 ")


def _status(address: str, source: str = "127.0.0.1") -> bytes:
    with _connect(address, STATUS, source) as raw:
        return _answer(raw)[9:12]


def _wait_until(is_so: Callable[[], bool]) -> None:
    deadline = monotonic() + 60
    while not is_so():
        assert monotonic() < deadline
        sleep(0.02)


def test_the_limit_on_open_files_is_raised() -> None:
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(1024, limits[0]), limits[1]))
        raise_open_files_limit()
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == (min(limits[1], 65_536), limits[1])
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
