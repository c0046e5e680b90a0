"""Requests that are too large, too slow or too many end, and the parallel requests of an account are limited."""

import json
import re
import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from time import monotonic, sleep
from urllib.parse import urlsplit

import httpx
import pytest
from fastapi import FastAPI, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.testclient import TestClient
from uvicorn.importer import import_from_string

from api import error_handlers
from api.http import concurrent_requests, request_bodies, server_protocol
from api.http.concurrent_requests import ConcurrentRequests, count_request
from api.http.request_bodies import MAX_BODY_BYTES, RefusedBody, RequestBodies, streamed_body
from api.http.server_protocol import BoundedHttpProtocol
from api.main import create_app
from deploy.standalone.commands import SERVER_LOOP, web_command
from scorer.settings import Settings
from tests.api.conftest import Service
from tests.api.submissions.streams import listen_to_events
from tests.factories import make_zip, noise_images
from tests.http_server import serve

CHUNK = b"x" * (1 << 16)
SIGN_IN = b"POST /api/v1/session HTTP/1.1\r\nHost: kennel\r\nContent-Type: application/json\r\n"


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """The application on a real port without a database. The limits refuse requests before they need one."""
    settings = Settings(
        database_url="postgresql://x@127.0.0.1:1/x", redis_url="redis://127.0.0.1:1", blob_url="file:///tmp"
    )
    with serve(create_app(settings)) as address:
        yield address


@contextmanager
def connection(address: str, data: bytes = b"") -> Iterator[socket.socket]:
    """Open a connection and send ``data``."""
    with socket.create_connection(("127.0.0.1", urlsplit(address).port or 0), timeout=60) as raw:
        raw.sendall(data)
        yield raw


def read_answer(raw: socket.socket) -> bytes:
    """Read until the server closes the connection. Fail if it does not."""
    answer = b""
    try:
        while data := raw.recv(1 << 16):
            answer += data
    except ConnectionResetError:  # the server closed it while our bytes were on their way
        pass
    return answer


@pytest.mark.parametrize("content_type", ["application/json", "text/plain", "application/vnd.x+json"])
@pytest.mark.parametrize("path", ["/api/v1/session", "/api/v1/password-resets"])
def test_an_endless_body_is_refused_at_its_limit(address: str, path: str, content_type: str) -> None:
    sent = 0

    def endless() -> Iterator[bytes]:
        nonlocal sent
        while sent < 16 * MAX_BODY_BYTES:
            sent += len(CHUNK)
            yield CHUNK

    with httpx.Client(trust_env=False, timeout=60) as http:
        answer = http.post(address + path, content=endless(), headers={"Content-Type": content_type})
    assert answer.status_code == 413
    assert answer.json()["type"] == "urn:kennel:problem:too-large"


def test_a_body_with_a_declared_size_over_the_limit_is_refused(address: str) -> None:
    with connection(address, SIGN_IN + b"Content-Length: 999999999\r\n\r\n{") as raw:
        assert b" 413 " in read_answer(raw).splitlines()[0]


def test_a_body_that_does_not_end_in_time_is_refused(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_bodies, "MAX_BODY_SECONDS", 0.2)
    with connection(address, SIGN_IN + b"Content-Length: 100\r\n\r\n{") as raw:
        answer = read_answer(raw)
    assert b" 408 " in answer.splitlines()[0]
    assert b"urn:kennel:problem:too-slow" in answer


def test_the_parallel_bodies_of_an_address_are_limited(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_bodies, "MAX_BODIES_PER_CLIENT", 2)
    begun = SIGN_IN + b"Content-Length: 100\r\n\r\n{"
    with ExitStack() as connections:
        for _ in range(2):
            connections.enter_context(connection(address, begun))
        assert _first_refusal(address) == (429, "urn:kennel:problem:too-many-bodies")
    _wait_until(lambda: _sign_in(address).status_code != 429)  # until the server sees the two closed connections


def test_waiting_bodies_have_a_total_limit(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_bodies, "MAX_WAITING_BYTES", 1000)
    with connection(address, SIGN_IN + b"Content-Length: 990\r\n\r\n{" + b" " * 980):
        assert _first_refusal(address) == (503, "urn:kennel:problem:busy")


def _wait_until(is_so: Callable[[], bool]) -> None:
    deadline = monotonic() + 60
    while not is_so():
        assert monotonic() < deadline
        sleep(0.02)


def _sign_in(address: str) -> httpx.Response:
    body = {"email": "a@example.org", "password": "-"}
    return httpx.post(f"{address}/api/v1/session", json=body, trust_env=False, timeout=60)


def _first_refusal(address: str) -> tuple[int, str]:
    """Repeat a request until a limit refuses it, once the server has read the other connections' bytes."""
    answers: list[httpx.Response] = []

    def is_refused() -> bool:
        answers.append(_sign_in(address))
        return bool(answers[-1].json()["type"] != "urn:kennel:problem:database-unavailable")

    _wait_until(is_refused)
    return answers[-1].status_code, answers[-1].json()["type"]


def test_only_its_own_limit_applies_to_a_streaming_route(monkeypatch: pytest.MonkeyPatch) -> None:
    app = FastAPI()

    @app.post("/")
    async def count(request: Request) -> int:
        return sum([len(chunk) async for chunk in streamed_body(request, 1)])

    app.add_middleware(RequestBodies)
    monkeypatch.setattr(request_bodies, "MAX_BODY_SECONDS", 0.0)
    content = CHUNK * (2 * MAX_BODY_BYTES // len(CHUNK))
    with serve(app) as address:
        assert httpx.post(address, content=content, trust_env=False, timeout=60).json() == 2 * MAX_BODY_BYTES


def test_a_file_that_sends_no_bytes_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    app = FastAPI()

    @app.post("/")
    async def count(request: Request) -> int:
        return sum([len(chunk) async for chunk in streamed_body(request, 1)])

    app.add_middleware(RequestBodies)
    app.add_exception_handler(RefusedBody, error_handlers.refused_body)
    monkeypatch.setattr(request_bodies, "IDLE_SECONDS", 0.2)
    with serve(app) as address, connection(address, b"POST / HTTP/1.1\r\nHost: k\r\nContent-Length: 9\r\n\r\nx") as raw:
        answer = read_answer(raw)
    assert b" 408 " in answer.splitlines()[0]
    assert b"urn:kennel:problem:too-slow" in answer


def test_the_parallel_files_of_an_account_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    app = FastAPI()
    sent: list[int] = []

    @app.post("/{account}")
    async def count(account: int, request: Request) -> int:
        async for chunk in streamed_body(request, account):
            sent.append(len(chunk))  # noqa: PERF401 - the test reads the list meanwhile
        return len(sent)

    app.add_middleware(RequestBodies)
    app.add_exception_handler(RefusedBody, error_handlers.refused_body)
    monkeypatch.setattr(request_bodies, "MAX_FILES_PER_ACCOUNT", 1)
    with (
        serve(app) as address,
        connection(address, b"POST /1 HTTP/1.1\r\nHost: k\r\nContent-Length: 9\r\n\r\nx") as raw,
    ):
        _wait_until(lambda: len(sent) == 1)
        assert [
            httpx.post(f"{address}/{account}", content=b"y", trust_env=False).status_code for account in (1, 2)
        ] == [
            429,
            200,
        ]
        raw.sendall(b"x" * 8)
        assert b" 200 " in raw.recv(1 << 16)
        assert httpx.post(f"{address}/1", content=b"y", trust_env=False).status_code == 200


def test_the_bytes_of_an_accounts_parallel_files_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    app = FastAPI()
    arrived: list[int] = []
    whole: list[int] = []
    stored = threading.Event()

    @app.post("/{account}")
    async def receive(account: int, request: Request) -> int:
        async for chunk in streamed_body(request, account):
            arrived.append(len(chunk))  # noqa: PERF401 - the test reads the list meanwhile
        whole.append(account)
        await run_in_threadpool(stored.wait, 60)
        return len(arrived)

    def send(account: int, content: bytes | Iterator[bytes]) -> int:
        return httpx.post(f"{address}/{account}", content=content, trust_env=False, timeout=60).status_code

    app.add_middleware(RequestBodies)
    app.add_exception_handler(RefusedBody, error_handlers.refused_body)
    monkeypatch.setattr(request_bodies, "MAX_FILE_BYTES_PER_ACCOUNT", 10)
    with (
        serve(app) as address,
        connection(address, b"POST /1 HTTP/1.1\r\nHost: k\r\nContent-Length: 9\r\n\r\nx") as raw,
    ):
        _wait_until(lambda: len(arrived) == 1)
        refused = [send(1, content) for content in (b"yy", iter([b"y", b"y"]))]
        raw.sendall(b"x" * 8)
        _wait_until(lambda: whole == [1])
        refused.append(send(1, b"yy"))
        stored.set()
        assert refused == [429, 429, 429], "with or without an announced size, until the first file is stored"
        assert send(2, b"yy") == 200, "another account has its own limit"
        assert b" 200 " in raw.recv(1 << 16)
        _wait_until(lambda: send(1, b"yy") == 200)
        assert send(1, iter([b"y" * 6] * 2)) == 200, "a single file may be larger"


@pytest.mark.parametrize(
    "begun", [b"", b"GET / HTT", b"GET / HTTP/1.1\r\nHost: kennel\r\n", b"GET /healthz HTTP/1.1\r\nHost: k\r\n\r\nGET"]
)
def test_headers_that_do_not_end_in_time_close_the_connection(
    address: str, monkeypatch: pytest.MonkeyPatch, begun: bytes
) -> None:
    monkeypatch.setattr(server_protocol, "HEADER_SECONDS", 0.2)
    with connection(address, begun) as raw:
        read_answer(raw)


def test_later_headers_that_do_not_end_in_time_close_the_connection(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The headers start after the first response, when the server's timeout for idle connections no longer applies."""
    monkeypatch.setattr(server_protocol, "HEADER_SECONDS", 0.2)
    with connection(address, b"GET /healthz HTTP/1.1\r\nHost: kennel\r\n\r\n") as raw:
        head, _, body = _received(raw, b"\r\n\r\n").partition(b"\r\n\r\n")
        (length,) = re.findall(rb"content-length: (\d+)", head)
        while len(body) < int(length):
            body += raw.recv(1 << 16)
        raw.sendall(b"GET / HTT")
        read_answer(raw)


def _received(raw: socket.socket, end: bytes) -> bytes:
    data = b""
    while end not in data:
        data += raw.recv(1 << 16)
    return data


def test_every_web_server_starts_with_these_limits() -> None:
    command = " ".join(web_command("127.0.0.1", 8000, 1))
    image = (Path(__file__).parents[3] / "deploy" / "Dockerfile").read_text()
    (started,) = re.findall(r"^CMD (\[.*uvicorn.*\])$", image, re.M)
    for server in (command, " ".join(json.loads(started))):
        (protocol,) = re.findall(r"--http (\S+)", server)
        assert import_from_string(protocol) is BoundedHttpProtocol
        assert f"--loop {SERVER_LOOP} " in server, "otherwise connections would not count before their TLS handshake"
        assert "--ws none" in server, "uvicorn's protocol for WebSockets has no such limits"


def test_endless_headers_close_the_connection(address: str) -> None:
    with connection(address, b"GET / HTTP/1.1\r\nX: ") as raw:
        assert _sends_until_closed(raw, b"x" * 1000) < 100 * server_protocol.MAX_HEADER_BYTES


def _sends_until_closed(raw: socket.socket, data: bytes) -> int:
    """Send repeatedly until the server closes the connection. Return the number of accepted bytes."""
    sent = 0
    deadline = monotonic() + 60
    while monotonic() < deadline:
        try:
            raw.sendall(data)
        except (BrokenPipeError, ConnectionResetError):
            return sent
        sent += len(data)
        sleep(0.001)
    raise AssertionError(f"The connection is still open after {sent} bytes.")


def test_a_request_over_the_limit_is_refused_until_another_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(concurrent_requests, "MAX_REQUESTS_PER_ACCOUNT", 1)
    app = FastAPI()
    error_handlers.add_error_handlers(app)
    begun, ended = threading.Event(), threading.Event()

    @app.get("/{account}")
    async def answer(account: int, request: Request) -> int:
        count_request(request, account)
        return account

    @app.get("/{account}/slow")
    def answer_slowly(account: int, request: Request) -> bool:
        count_request(request, account)
        begun.set()
        return ended.wait(60)

    http = TestClient(ConcurrentRequests(app))
    with ThreadPoolExecutor(1) as pool:
        slow = pool.submit(http.get, "/1/slow")
        assert begun.wait(60)
        refused, another = http.get("/1"), http.get("/2")
        ended.set()
        assert slow.result(60).json() is True
    assert (refused.status_code, refused.json()["type"]) == (429, "urn:kennel:problem:too-many-requests")
    assert refused.headers["Retry-After"] == "1"
    assert another.status_code == 200, "another account has its own limit"
    assert http.get("/1").status_code == 200


def test_requests_of_accounts_are_counted(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    slug = service.competition()
    monkeypatch.setattr(concurrent_requests, "MAX_REQUESTS_PER_ACCOUNT", 0)
    assert service.call("ada", "GET", f"/competitions/{slug}").status_code == 429
    assert service.call("ada", "GET", "/kaggle/bundles/x.zip").status_code == 400, (
        "the status that the kaggle client expects"
    )
    assert "in progress" in service.call("ada", "GET", f"/kaggle/bundles/{slug}.zip").text
    assert service.call(None, "GET", f"/competitions/{slug}").status_code == 200


def test_an_event_stream_does_not_count_as_a_parallel_request(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = service.submit("ada", service.competition(), make_zip(noise_images(10))).json()
    monkeypatch.setattr(concurrent_requests, "MAX_REQUESTS_PER_ACCOUNT", 1)
    with serve(service.app) as url, listen_to_events(url, service.tokens["ada"], entry["id"]) as events:
        next(events)
        assert service.call("ada", "GET", "/me").status_code == 200
