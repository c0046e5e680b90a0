"""A web process stays within its limits and responds to other visitors while an attack is open."""

import json
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import text

from api.http.concurrent_requests import MAX_REQUESTS_PER_ACCOUNT
from api.http.csrf import csrf_token
from api.http.multipart import MAX_BYTES_BEFORE_FILE
from api.http.request_bodies import (
    MAX_BODIES_PER_CLIENT,
    MAX_BODY_BYTES,
    MAX_FILES_PER_ACCOUNT,
    MAX_WAITING_BYTES,
)
from api.http.server_protocol import MAX_CONNECTIONS, MAX_CONNECTIONS_PER_ADDRESS, MAX_HEADER_BYTES, MAX_PIPELINED
from deploy.standalone.ephemeral import Servers
from scorer.accounts.api_tokens import MAX_TOKENS
from scorer.db.tables import Account, Token, Webhook
from scorer.notifications.webhooks import MAX_WEBHOOKS
from scorer.process_resources import MAX_OPEN_FILES
from scorer.teams.storage import SHARE
from tests.api.conftest import API, Service
from tests.api.http.attacked import (
    ADDRESSES,
    CHUNK,
    MAX_FILE_BYTES,
    Attacked,
    attacked,
    attacked_process,
    start_ada_session,
    statuses,
    wait_until,
    waiting_for_locks,
)
from tests.api.http.web_process import resident_bytes

__all__ = ["attacked"]  # pytest finds the fixture by its name in this module
MAX_GROWTH = 64 << 20
MAX_REQUESTS, MAX_ACCOUNTS = 300, 5
"""The limits of an address for a minute and for an hour. These settings and the next make the tests fast."""
MAX_FILES_BYTES = 1_500_000
"""The limit for files that an account sends at the same time."""
MAX_TEAM_BYTES = 1_000_000
MAX_COMPETITION_BYTES = 4 * MAX_TEAM_BYTES
NO_LOCK_TIMEOUT = "from scorer.db import answer_timeouts; answer_timeouts.LOCK_SECONDS = 600"
NO_HEADER_TIMEOUT = "server_protocol.HEADER_SECONDS = 600.0"
MAX_THREADS = 40 + 16
"""40 threads for requests, 16 for everything else."""
TRAILERS = b"GET /healthz HTTP/1.1\r\nHost: kennel\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n"


@pytest.fixture(scope="module")
def process(servers: Servers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Service, int, int]]:
    """A service with the id and port of its web process."""
    rates = json.dumps({"request": f"{MAX_REQUESTS}/minute", "sign-up": f"{MAX_ACCOUNTS}/hour"})
    changes = [f"request_bodies.MAX_FILE_BYTES_PER_ACCOUNT = {MAX_FILES_BYTES}", NO_LOCK_TIMEOUT, NO_HEADER_TIMEOUT]
    variables = {"KENNEL_RATES": rates, "KENNEL_MAX_TEAM_BYTES": str(MAX_TEAM_BYTES)}
    variables["KENNEL_MAX_COMPETITION_BYTES"] = str(MAX_COMPETITION_BYTES)
    with attacked_process(servers, tmp_path_factory.mktemp("attacked"), changes=changes, **variables) as process:
        yield process


@contextmanager
def bounded_memory(attacked: Attacked) -> Iterator[None]:
    """Require that the process responds and does not grow while the context's connections are open."""
    before = resident_bytes(attacked.pid)
    yield
    attacked.require_answer()
    assert resident_bytes(attacked.pid) - before < MAX_GROWTH


@pytest.mark.parametrize(
    ("head", "line"),
    [
        (b"GET / HTTP/1.1\r\n", b"x: y\r\n"),
        (b"GET / HTTP/1.1\r\nx: ", b"abcd"),
        (TRAILERS, b"x: " + b"a" * 60 + b"\r\n"),
        (TRAILERS + b"x: ", b"a" * 60),
        (TRAILERS.removesuffix(b"0\r\n") + b"1;", b"a" * 60),
    ],
    ids=["headers", "a long header", "trailers", "a long trailer", "a chunk's extension"],
)
def test_bytes_outside_a_body_cost_little_memory(attacked: Attacked, head: bytes, line: bytes) -> None:
    source, below = next(ADDRESSES), line * ((MAX_HEADER_BYTES - 2 * len(head)) // len(line))
    with bounded_memory(attacked):
        for _ in range(50):
            attacked.connect(source, head + below)
        for _ in range(2):
            attacked.connect(source, head + line * ((32 << 20) // len(line)))


def test_forms_cost_little_memory(attacked: Attacked) -> None:
    slug, secret = attacked.service.competition(), start_ada_session(attacked.service)
    head = (
        f"POST /competitions/{slug}/submit HTTP/1.1\r\nHost: kennel\r\nCookie: kennel={secret}\r\n"
        "Content-Type: multipart/form-data; boundary=b\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    fields = [f'--b\r\nContent-Disposition: form-data; name="csrf"\r\n\r\n{csrf_token(secret)}\r\n']
    fields += [f'--b\r\nContent-Disposition: form-data; name="{n}"\r\n\r\n{"x" * 500_000}\r\n' for n in range(20)]
    chunks = "".join(f"{len(field):x}\r\n{field}\r\n" for field in fields)
    assert len(chunks) > MAX_BYTES_BEFORE_FILE
    with bounded_memory(attacked):
        for _ in range(MAX_FILES_PER_ACCOUNT):
            attacked.connect(next(ADDRESSES), (head + chunks).encode())


def test_connections_are_limited_per_address_and_in_total(attacked: Attacked) -> None:
    """Each open file of the process is a connection here. Ten addresses open more than the process accepts."""
    limits = Path(f"/proc/{attacked.pid}/limits").read_text()
    (soft, hard) = re.findall(r"Max open files +(\d+) +(\d+)", limits)[0]
    assert int(soft) == min(int(hard), MAX_OPEN_FILES)
    before, others = attacked.files, 64
    source = next(ADDRESSES)
    for _ in range(MAX_CONNECTIONS_PER_ADDRESS + 100):
        attacked.connect(source, b"GET / HTT")
    attacked.require_answer()
    wait_until(lambda: attacked.files < before + MAX_CONNECTIONS_PER_ADDRESS + others)
    assert attacked.files >= MAX_CONNECTIONS_PER_ADDRESS
    for _ in range(MAX_CONNECTIONS // MAX_CONNECTIONS_PER_ADDRESS + 1):
        source = next(ADDRESSES)
        for _ in range(MAX_CONNECTIONS_PER_ADDRESS):
            attacked.connect(source, b"GET / HTT")
    attacked.require_answer()
    wait_until(lambda: attacked.files < before + MAX_CONNECTIONS + others)
    assert attacked.files >= MAX_CONNECTIONS


def test_parallel_requests_use_a_limited_number_of_threads(attacked: Attacked) -> None:
    before = attacked.threads
    request = f"GET {API}/competitions HTTP/1.1\r\nHost: kennel\r\n\r\n".encode()
    for source in (next(ADDRESSES), next(ADDRESSES)):
        for _ in range(MAX_CONNECTIONS_PER_ADDRESS):
            attacked.connect(source, request)
    attacked.require_answer()
    assert attacked.threads <= before + MAX_THREADS


def test_requests_of_an_address_are_counted(attacked: Attacked) -> None:
    source = next(ADDRESSES)
    with httpx.Client(transport=httpx.HTTPTransport(local_address=source)) as http:
        statuses = [http.get(f"http://127.0.0.1:{attacked.port}/").status_code for _ in range(MAX_REQUESTS + 50)]
        attacked.require_answer()
    assert statuses.count(200) <= MAX_REQUESTS * 2, "two minutes of the limit may have been used"
    assert set(statuses) == {200, 429}


def test_long_cookies_do_not_block_other_visitors(attacked: Attacked) -> None:
    """Some versions of Python take seconds to decode one of these cookies."""
    cookie = b'a="' + b'\\"' * ((MAX_HEADER_BYTES - 1000) // 2) + b'"'
    for _ in range(20):
        attacked.connect(next(ADDRESSES), b"GET / HTTP/1.1\r\nHost: kennel\r\nCookie: " + cookie + b"\r\n\r\n")
    attacked.require_answer()


def test_an_address_creates_a_limited_number_of_accounts(attacked: Attacked) -> None:
    with attacked.service.context.sessions() as session:
        before = session.query(Account).count()
    with httpx.Client(transport=httpx.HTTPTransport(local_address=next(ADDRESSES)), timeout=60) as http:
        for number in range(MAX_ACCOUNTS + 3):
            person = {"handle": f"row-{number}", "email": f"row-{number}@example.org", "password": secrets.token_hex(9)}
            status = http.post(f"http://127.0.0.1:{attacked.port}{API}/accounts", json=person).status_code
        attacked.require_answer()
    with attacked.service.context.sessions() as session:
        assert session.query(Account).count() - before == MAX_ACCOUNTS
    assert status == 429


@pytest.mark.parametrize(
    ("path", "table", "limit"), [("tokens", Token, MAX_TOKENS), ("webhooks", Webhook, MAX_WEBHOOKS)]
)
def test_parallel_requests_do_not_exceed_an_accounts_limits(
    attacked: Attacked, path: str, table: Any, limit: int
) -> None:
    """All requests pass the check of the limit before a row is written."""
    secret, many = start_ada_session(attacked.service), 8
    body = json.dumps({"tokens": {"name": "many"}, "webhooks": {"url": "https://example.org/"}}[path])
    headers = {"Cookie": f"kennel={secret}", "X-CSRF-Token": csrf_token(secret), "Content-Type": "application/json"}
    lines = [f"POST {API}/{path} HTTP/1.1", "Host: kennel", f"Content-Length: {len(body)}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    with attacked.service.context.sessions() as session:
        rows = session.query(table).join(Account).filter(Account.handle == "ada")
        with httpx.Client(base_url=f"http://127.0.0.1:{attacked.port}{API}", headers=headers, timeout=60) as http:
            for _ in range(limit - 1 - rows.count()):
                assert http.post(f"/{path}", content=body).status_code == 201
        session.execute(text(f"LOCK TABLE {table.__tablename__} IN SHARE MODE"))
        data = "\r\n".join([*lines, "", body]).encode()
        sent = [attacked.connect(next(ADDRESSES), data) for _ in range(many)]
        attacked.require_answer()
        wait_until(lambda: waiting_for_locks(session) == many)
        session.rollback()
        wait_until(lambda: statuses(sent).total() == many)
        assert rows.count() == limit
    assert statuses(sent) == {201: 1, 409: many - 1}


def test_an_account_cannot_fill_the_disk(attacked: Attacked) -> None:
    """Files over the limit are refused, and the number of parallel files is limited."""
    slug, before = attacked.service.competition(), attacked.stored_bytes
    for chunks in (2, 20):
        attacked.send_files(slug, "ada", chunks)
    attacked.require_answer()
    assert 0 < attacked.stored_bytes - before <= MAX_FILES_PER_ACCOUNT * MAX_FILE_BYTES


def test_small_pieces_of_an_upload_create_few_files(attacked: Attacked) -> None:
    """The last piece is still being sent. There may be one more file, which will replace another."""
    slug, pieces = attacked.service.competition(), 100
    folder = Path(attacked.service.context.settings.blob_url.removeprefix("file://")) / "uploads"
    tus = {"Tus-Resumable": "1.0.0", "Authorization": f"Bearer {attacked.service.tokens['ada']}"}
    with httpx.Client(base_url=f"http://127.0.0.1:{attacked.port}", headers=tus, timeout=60) as http:
        begun = http.post(f"{API}/competitions/{slug}/uploads", headers={"Upload-Length": str(MAX_FILE_BYTES)})
        path = begun.headers["location"]
        for offset in range(pieces):
            headers = {"Upload-Offset": str(offset), "Content-Type": "application/offset+octet-stream"}
            assert http.patch(path, headers=headers, content=b"x").status_code == 204
        head = f"PATCH {path} HTTP/1.1\r\nHost: kennel\r\nContent-Length: 2\r\n"
        head += "".join(f"{name}: {value}\r\n" for name, value in (tus | headers | {"Upload-Offset": pieces}).items())
        attacked.connect(next(ADDRESSES), f"{head}\r\nx".encode())
        attacked.require_answer()
    files = list(folder.glob(f"{path.rpartition('/')[2]}.*"))
    assert pieces <= sum(path.stat().st_size for path in files)
    assert len(files) <= 2


def test_the_announced_bytes_of_an_account_are_limited(attacked: Attacked) -> None:
    slug = attacked.service.competition()
    head = (
        f"POST {API}/competitions/{slug}/submissions HTTP/1.1\r\nHost: kennel\r\n"
        f"Authorization: Bearer {attacked.service.tokens['eve']}\r\nContent-Length: {MAX_FILE_BYTES}\r\n\r\nx"
    )
    sent = [attacked.connect(next(ADDRESSES), head.encode()) for _ in range(MAX_FILES_PER_ACCOUNT)]
    attacked.require_answer()
    wait_until(lambda: statuses(sent).total() > 0)
    assert statuses(sent) == {429: MAX_FILES_PER_ACCOUNT - MAX_FILES_BYTES // MAX_FILE_BYTES}


def test_teams_cannot_announce_more_than_their_quota_and_share(attacked: Attacked) -> None:
    slug, before, files = attacked.service.competition(), attacked.stored_bytes, MAX_TEAM_BYTES // MAX_FILE_BYTES
    url = f"http://127.0.0.1:{attacked.port}{API}/competitions/{slug}/uploads"

    def announce(who: str, number: int) -> list[int]:
        headers = {"Tus-Resumable": "1.0.0", "Upload-Length": str(MAX_FILE_BYTES)}
        headers["Authorization"] = f"Bearer {attacked.service.tokens[who]}"
        with httpx.Client(headers=headers, trust_env=False, timeout=60) as http:
            return [http.post(url).status_code for _ in range(number)]

    assert announce("bob", files + 2) == [201] * files + [409] * 2
    assert announce("eve", files) == [201] * files
    attacked.require_answer()
    storage = attacked.service.call("organizer", "GET", f"/competitions/{slug}/storage").json()
    assert storage["staged_bytes"] == MAX_COMPETITION_BYTES // SHARE == MAX_TEAM_BYTES
    assert attacked.stored_bytes == before


def test_bodies_in_memory_are_limited(attacked: Attacked) -> None:
    """A body, the bodies of an address, and all bodies together are limited."""
    head = f"POST {API}/session HTTP/1.1\r\nHost: kennel\r\nContent-Type: application/json\r\n".encode()
    chunked, source = head + b"Transfer-Encoding: chunked\r\n\r\n", next(ADDRESSES)
    with bounded_memory(attacked):
        endless = attacked.connect(next(ADDRESSES), chunked + CHUNK * (2 * MAX_BODY_BYTES // len(CHUNK)))
        wait_until(lambda: statuses([endless]).total() > 0)
        many = range(MAX_BODIES_PER_CLIENT + 8)
        begun = [attacked.connect(source, head + b"Content-Length: 9\r\n\r\n{") for _ in many]
        wait_until(lambda: statuses(begun) == {429: 8})
        waiting = [attacked.connect(next(ADDRESSES), chunked + CHUNK * 15) for _ in range(20)]
        fitting = MAX_WAITING_BYTES // (15 << 16)
        wait_until(lambda: statuses(waiting).total() >= len(waiting) - fitting)
    assert set(statuses([endless])) <= {413, 0}
    assert set(statuses(waiting)) <= {503, 0}


def test_pipelined_requests_are_limited(attacked: Attacked) -> None:
    raw = attacked.connect(next(ADDRESSES), f"GET {API}/competitions HTTP/1.1\r\nHost: k\r\n\r\n".encode() * 1000)
    attacked.require_answer()
    attacked.require_end([raw])
    answers = b""
    with suppress(ConnectionResetError):
        while data := raw.recv(1 << 16):
            answers += data
    assert answers.count(b"HTTP/1.1 200") <= MAX_PIPELINED + 1


def test_slow_requests_of_an_account_leave_room_for_others(attacked: Attacked) -> None:
    """The requests wait for a locked table. Threads and database connections stay free for others."""
    token, too_many = attacked.service.tokens["ada"], 8
    ask = f"GET {API}/notices HTTP/1.1\r\nHost: kennel\r\nAuthorization: Bearer {token}\r\n\r\n".encode()
    with attacked.service.context.sessions() as session:
        session.execute(text("LOCK TABLE notices IN ACCESS EXCLUSIVE MODE"))
        asked = [attacked.connect(next(ADDRESSES), ask) for _ in range(MAX_REQUESTS_PER_ACCOUNT + too_many)]
        wait_until(lambda: statuses(asked).total() >= too_many)
        attacked.require_answer()
        assert statuses(asked) == {429: too_many}
