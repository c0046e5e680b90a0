"""Slow and silent connections end after their time limit, and a full disk accepts no file."""

from collections.abc import Iterator

import pytest

from deploy.standalone.ephemeral import Servers
from tests.api.conftest import API, Service
from tests.api.http.attacked import (
    ADDRESSES,
    Attacked,
    attacked,
    attacked_process,
    start_ada_session,
    statuses,
    wait_until,
)

__all__ = ["attacked"]  # pytest finds the fixture by its name in this module
CONNECTIONS = 5
SHORT_TIMES = (
    "server_protocol.HEADER_SECONDS = server_protocol.UNREAD_SECONDS = server_protocol.DRAIN_SECONDS = 2.0",
    "request_bodies.MAX_BODY_SECONDS = request_bodies.IDLE_SECONDS = 2.0",
)


@pytest.fixture(scope="module")
def process(servers: Servers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Service, int, int]]:
    """A service with the id and port of its web process."""
    folder = tmp_path_factory.mktemp("attacked")
    with attacked_process(servers, folder, changes=SHORT_TIMES, KENNEL_MIN_FREE_BYTES=str(1 << 60)) as process:
        yield process


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        ("GET / HTT", 0),
        (f"POST {API}/session HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{{", 408),
        (
            "POST /competitions/{slug}/submit HTTP/1.1\r\nCookie: kennel={session}\r\n"
            "Content-Type: multipart/form-data; boundary=b\r\nContent-Length: 9\r\n\r\n-",
            408,
        ),
        (f"POST {API}/nothing HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n", 404),
        (f"GET {API}/openapi.json HTTP/1.1\r\n\r\n" * 16, 200),
    ],
    ids=["headers", "a body", "a file", "the rest of a body", "a response"],
)
def test_connections_that_wait_for_their_peer_end(attacked: Attacked, request_: str, status: int) -> None:
    slug, source = attacked.service.competition(), next(ADDRESSES)
    data = request_.replace("{slug}", slug).replace("{session}", start_ada_session(attacked.service))
    data = data.replace(" HTTP/1.1\r\n", " HTTP/1.1\r\nHost: kennel\r\n")
    sent = [attacked.connect(source, data.encode()) for _ in range(CONNECTIONS)]
    attacked.require_answer()
    attacked.require_end(sent)
    assert set(statuses(sent)) <= {status, 0}


def test_a_full_disk_accepts_no_file(attacked: Attacked) -> None:
    slug, before = attacked.service.competition(), attacked.stored_bytes
    sent = attacked.send_files(slug, "ada", 2)
    attacked.require_answer()
    wait_until(lambda: statuses(sent).total() == len(sent))
    assert 507 in statuses(sent)
    assert attacked.stored_bytes == before
