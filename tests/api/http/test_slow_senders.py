"""Two hundred slow senders, with and without an account, cost the web process little memory."""

import socket
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic, sleep

from api.http.request_bodies import MAX_FILES_PER_ACCOUNT
from scorer.accounts import accounts, api_tokens
from tests.api.conftest import API, Service
from tests.api.http.web_process import is_answered, resident_bytes, web_process

SENDERS = 100
"""The number of senders of each kind."""
SENDERS_PER_ADDRESS = 10
FILE_BYTES, JSON_BYTES = 1_300_000, 500_000
"""Bytes that a sender sends before it stops: too few to end its request."""
MAX_GROWTH = 64 << 20
CHUNK = b"x" * (1 << 16)


def test_two_hundred_slow_senders_cost_the_web_process_little_memory(service: Service, tmp_path: Path) -> None:
    slug = service.competition(image_count=400)
    tokens = _new_tokens(service, SENDERS // MAX_FILES_PER_ACCOUNT + 1)
    upload = f"POST {API}/competitions/{slug}/submissions HTTP/1.1\r\nAuthorization: Bearer {{}}\r\n"
    sign_in = f"POST {API}/session HTTP/1.1\r\nContent-Type: application/json\r\n"
    kinds = [(upload.format(tokens[number // MAX_FILES_PER_ACCOUNT]), FILE_BYTES) for number in range(SENDERS)]
    kinds += [(sign_in, JSON_BYTES)] * SENDERS
    with web_process(service, tmp_path) as (web, port), ExitStack() as connections:
        before = resident_bytes(web)
        with ThreadPoolExecutor(20) as pool:
            senders = [pool.submit(_send, port, number, *kind) for number, kind in enumerate(kinds)]
            opened = [connections.enter_context(sender.result()) for sender in senders]
            _wait_until_read(port)
        grown = resident_bytes(web) - before
        assert is_answered(port)
        waiting = [_is_unanswered(raw) for raw in opened]
    assert all(waiting[:SENDERS]), "every file is accepted so far"
    assert sum(waiting[SENDERS:]) > 5, "some bodies wait in memory"
    assert grown < MAX_GROWTH


def _new_tokens(service: Service, count: int) -> list[str]:
    tokens = [f"secret-of-sender-{number}" for number in range(count)]
    with service.context.sessions.begin() as session:
        for number, token in enumerate(tokens):
            handle, now = f"sender-{number}", datetime.now(UTC)
            account = accounts.create_account(session, handle=handle, name=handle, role="participant", now=now)
            api_tokens.issue(session, account, token, name="test", now=now)
    return tokens


def _send(port: int, number: int, head: str, size: int) -> socket.socket:
    """Send ``size`` bytes of a chunked body from an address that few senders share. Leave the connection open."""
    source = f"127.0.0.{2 + number // SENDERS_PER_ADDRESS}"
    raw = socket.create_connection(("127.0.0.1", port), timeout=60, source_address=(source, 0))
    raw.sendall(f"{head}Host: kennel\r\nTransfer-Encoding: chunked\r\n\r\n".encode())
    with suppress(BrokenPipeError, ConnectionResetError):
        for start in range(0, size, len(CHUNK)):
            part = CHUNK[: size - start]
            raw.sendall(f"{len(part):x}\r\n".encode() + part + b"\r\n")
    return raw


def _wait_until_read(port: int) -> None:
    """Wait until the server has read all bytes from the kernel."""
    deadline = monotonic() + 120
    while _unread_bytes(port):
        assert monotonic() < deadline
        sleep(0.05)


def _unread_bytes(port: int) -> int:
    """Return the bytes in the receive queues of the server's connections, from ``/proc/net/tcp``."""
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return sum(int(row[4].split(":")[1], 16) for row in rows if int(row[1].split(":")[1], 16) == port)


def _is_unanswered(raw: socket.socket) -> bool:
    raw.setblocking(False)
    with suppress(BlockingIOError, ConnectionResetError):
        raw.recv(1)
        return False
    return True
