"""Settings that require TLS for PostgreSQL, Redis, S3 and mail."""

import socket
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field
from threading import Thread

import pytest
from sqlalchemy.exc import OperationalError

from api.http.rate_limits import RateLimiter
from scorer.blobs import open_blobs
from scorer.db.session import build_engine
from scorer.errors import Unavailable
from scorer.jobs.broker import create_celery_app
from scorer.notifications import smtp
from scorer.settings import Settings

SSL_REQUEST = bytes([0, 0, 0, 8, 4, 210, 22, 47])
"""PostgreSQL's message SSLRequest, which a client sends before TLS."""
CLIENT_HELLO = b"\x16\x03"
"""The first bytes of TLS (RFC 8446, 5.1)."""


@dataclass
class PlainServer:
    """A server without TLS. It refuses PostgreSQL's request for TLS and records the bytes that it receives."""

    port: int
    connections: list[list[bytes]] = field(default_factory=list)

    def answer(self, connection: socket.socket) -> None:
        """Record what the client sends, also after the refusal."""
        with closing(connection), suppress(OSError):
            connection.settimeout(10)
            received = [connection.recv(1 << 16)]
            self.connections.append(received)
            if received[0] == SSL_REQUEST:
                connection.sendall(b"N")
                received.append(connection.recv(1 << 16))


@pytest.fixture
def plain() -> Iterator[PlainServer]:
    """A running server without TLS."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = PlainServer(listener.getsockname()[1])

        def serve() -> None:
            with suppress(OSError):
                while True:
                    server.answer(listener.accept()[0])

        thread = Thread(target=serve, daemon=True)
        thread.start()
        yield server
        listener.shutdown(socket.SHUT_RDWR)
        thread.join(10)


def make_settings(plain: PlainServer, **changes: str) -> Settings:
    """Settings with the plain server in place of every server."""
    address = f"127.0.0.1:{plain.port}"
    defaults = {
        "database_url": f"postgresql://kennel:secret@{address}/kennel",
        "redis_url": f"redis://:secret@{address}/0",
        "blob_url": "file:///none",
    }
    return Settings.model_validate(defaults | changes)


def test_a_database_without_tls_receives_no_data(plain: PlainServer) -> None:
    for query, refused in (("?sslmode=verify-full&sslrootcert=system", True), ("?sslmode=disable", False)):
        settings = make_settings(plain, database_url=f"postgresql://kennel:secret@127.0.0.1:{plain.port}/kennel{query}")
        engine = build_engine(settings)
        with pytest.raises(OperationalError):
            engine.connect()
        engine.dispose()
        received = b"".join(plain.connections[-1])
        assert (received == SSL_REQUEST) == refused
        assert (b"kennel" in received) == (not refused), "without the setting the connection is unencrypted"


def test_redis_connections_use_tls(plain: PlainServer) -> None:
    settings = make_settings(plain, redis_url=f"rediss://:secret@127.0.0.1:{plain.port}/0")
    app = create_celery_app(settings)
    with pytest.raises(Exception, match=r"(?i)ssl|closed|reset|eof"):
        app.connection().ensure_connection(max_retries=1, timeout=5)
    app.close()
    for_queue = len(plain.connections)
    with suppress(Exception):
        RateLimiter(settings).hit("sign-in", "somebody")
    assert len(plain.connections) > for_queue > 0
    assert all(received[0].startswith(CLIENT_HELLO) for received in plain.connections)


def test_a_mail_server_without_tls_receives_no_data(plain: PlainServer) -> None:
    with pytest.raises(Unavailable, match="cannot be used"):
        smtp.connect(f"smtps://kennel:secret@127.0.0.1:{plain.port}")
    assert [received[0][:2] for received in plain.connections] == [CLIENT_HELLO]


def test_a_store_without_tls_is_not_used_unless_allowed(plain: PlainServer, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (
        ("AWS_ENDPOINT", f"http://127.0.0.1:{plain.port}"),
        ("AWS_ACCESS_KEY_ID", "key"),
        ("AWS_SECRET_ACCESS_KEY", "secret"),
        ("AWS_REGION", "nowhere"),
    ):
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("AWS_ALLOW_HTTP", raising=False)
    store = open_blobs(make_settings(plain, blob_url="s3://bucket/prefix"))
    with pytest.raises(Exception, match=r"(?i)http"):
        store.read("a")
    assert plain.connections == []
