"""A web process for tests that attack it and check the cost."""

import secrets
import socket
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic, sleep

import psutil
import pytest
from sqlalchemy import text
from sqlalchemy.orm import Session

from api.http.request_bodies import MAX_FILES_PER_ACCOUNT
from deploy.standalone.ephemeral import Servers
from scorer.accounts import sessions
from scorer.accounts.sessions import Browser
from scorer.db.tables import Account
from scorer.process_resources import raise_open_files_limit
from tests.api.conftest import API, Service, running_service
from tests.api.http.web_process import is_answered, web_process
from tests.conftest import fresh_settings

MAX_FILE_BYTES = 200_000
"""The limit for a zip."""
MAX_FILES = 2 * MAX_FILES_PER_ACCOUNT
CHUNK = b"10000\r\n" + b"x" * (1 << 16) + b"\r\n"
ADDRESSES = iter(f"127.0.{block}.{number}" for block in (1, 2) for number in range(1, 255))
"""Addresses of attackers. Each attack has its own."""


class Attacked:
    """A service with a separate web process under attack."""

    def __init__(self, service: Service, pid: int, port: int, held: ExitStack) -> None:
        self.service, self.pid, self.port, self._held = service, pid, port, held

    def connect(self, source: str, data: bytes = b"") -> socket.socket:
        """Open a connection until the end of the test. Send as much of ``data`` as the process accepts."""
        raw = socket.create_connection(("127.0.0.1", self.port), timeout=60, source_address=(source, 0))
        self._held.callback(raw.close)
        with suppress(BrokenPipeError, ConnectionResetError):
            raw.sendall(data)
        return raw

    def send_files(self, slug: str, who: str, chunks: int) -> list[socket.socket]:
        """Send more endless files of one person than Kennel accepts at the same time."""
        head = (
            f"POST {API}/competitions/{slug}/submissions HTTP/1.1\r\nHost: kennel\r\n"
            f"Authorization: Bearer {self.service.tokens[who]}\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        return [self.connect(next(ADDRESSES), head.encode() + CHUNK * chunks) for _ in range(MAX_FILES)]

    @property
    def files(self) -> int:
        """The number of files and connections that the process has open."""
        return len(list(Path(f"/proc/{self.pid}/fd").iterdir()))

    @property
    def threads(self) -> int:
        """The number of threads of the process."""
        return len(list(Path(f"/proc/{self.pid}/task").iterdir()))

    @property
    def stored_bytes(self) -> int:
        """The bytes of all files in the store."""
        folder = Path(self.service.context.settings.blob_url.removeprefix("file://"))
        return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())

    def require_answer(self) -> None:
        """Require a response to another visitor. By then the process has read the earlier bytes of the attack."""
        wait_until(lambda: is_answered(self.port))

    def require_end(self, connections: Sequence[socket.socket]) -> None:
        """Require that the process ends these connections."""
        names = {raw.getsockname() for raw in connections}
        process = psutil.Process(self.pid)
        wait_until(lambda: names.isdisjoint(tuple(held.raddr) for held in process.net_connections("tcp4")))


def wait_until(is_so: Callable[[], bool]) -> None:
    """Wait up to 60 s until a condition holds."""
    deadline = monotonic() + 60
    while not is_so():
        assert monotonic() < deadline
        sleep(0.05)


def waiting_for_locks(session: Session) -> int:
    """Return how many of the database's connections wait for a lock."""
    query = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    return int(session.execute(text(query)).scalar_one())


def statuses(connections: Sequence[socket.socket]) -> Counter[int]:
    """Count the statuses of the responses so far, without reading them. 0 means a reset connection."""
    answers = Counter[int]()
    for raw in connections:
        raw.setblocking(False)
        with suppress(BlockingIOError):
            try:
                head = raw.recv(12, socket.MSG_PEEK)
            except ConnectionResetError:
                head = b""
            answers[int(head[9:12] or 0)] += 1
    return answers


@contextmanager
def attacked_process(
    servers: Servers, folder: Path, *, changes: Sequence[str] = (), **variables: str
) -> Iterator[tuple[Service, int, int]]:
    """Run a service with these settings. Yield it with the id and port of its web process."""
    raise_open_files_limit()
    with (
        fresh_settings(servers, folder) as settings,
        running_service(settings) as service,
        web_process(service, folder, changes=changes, KENNEL_MAX_UPLOAD_BYTES=str(MAX_FILE_BYTES), **variables) as (
            pid,
            port,
        ),
    ):
        yield service, pid, port


@pytest.fixture
def attacked(process: tuple[Service, int, int]) -> Iterator[Attacked]:
    """The module's service. Its attacks end with the test."""
    with ExitStack() as held:
        attacked = Attacked(*process, held)
        yield attacked
        attacked.require_answer()


def start_ada_session(service: Service) -> str:
    """Create a session for Ada and return its secret."""
    secret = secrets.token_urlsafe(32)
    with service.context.sessions.begin() as session:
        account = session.query(Account).filter_by(handle="ada").one()
        sessions.begin(session, account, secret=secret, browser=Browser("test", ""), now=datetime.now(UTC))
    return secret
