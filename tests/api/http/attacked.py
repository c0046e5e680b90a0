"""A web process that is attacked, and what the attack may cost it."""

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

from api.http.request_bodies import MAX_FILES_OF_AN_ACCOUNT
from deploy.standalone.ephemeral import Servers
from scorer.accounts import sessions
from scorer.accounts.sessions import Browser
from scorer.db.tables import Account
from scorer.process_resources import raise_open_files_limit
from tests.api.conftest import API, Service, running_service
from tests.api.http.web_process import is_answered, web_process
from tests.conftest import fresh_settings

MAX_FILE_BYTES = 200_000
"""Of a zip."""
MAX_FILES = 2 * MAX_FILES_OF_AN_ACCOUNT
CHUNK = b"10000\r\n" + b"x" * (1 << 16) + b"\r\n"
ADDRESSES = iter(f"127.0.{block}.{number}" for block in (1, 2) for number in range(1, 255))
"""Those of attackers. Each attack has its own."""


class Attacked:
    """A service with a web process of its own, which is attacked."""

    def __init__(self, service: Service, pid: int, port: int, held: ExitStack) -> None:
        self.service, self.pid, self.port, self._held = service, pid, port, held

    def connect(self, source: str, data: bytes = b"") -> socket.socket:
        """A connection that stays open until the end of the test, on which as much was sent as is taken."""
        raw = socket.create_connection(("127.0.0.1", self.port), timeout=60, source_address=(source, 0))
        self._held.callback(raw.close)
        with suppress(BrokenPipeError, ConnectionResetError):
            raw.sendall(data)
        return raw

    def send_files(self, slug: str, who: str, chunks: int) -> list[socket.socket]:
        """More files of one person than may be sent at the same time, none of them with an end."""
        head = (
            f"POST {API}/competitions/{slug}/submissions HTTP/1.1\r\nHost: kennel\r\n"
            f"Authorization: Bearer {self.service.tokens[who]}\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        return [self.connect(next(ADDRESSES), head.encode() + CHUNK * chunks) for _ in range(MAX_FILES)]

    @property
    def files(self) -> int:
        """The files and connections that the process has open."""
        return len(list(Path(f"/proc/{self.pid}/fd").iterdir()))

    @property
    def threads(self) -> int:
        """The threads of the process."""
        return len(list(Path(f"/proc/{self.pid}/task").iterdir()))

    @property
    def stored_bytes(self) -> int:
        """The bytes of all files in the store."""
        folder = Path(self.service.context.settings.blob_url.removeprefix("file://"))
        return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())

    def require_answer(self) -> None:
        """Require an answer to another visitor: the attack is read by then, as its bytes came first."""
        wait_until(lambda: is_answered(self.port))

    def require_end(self, connections: Sequence[socket.socket]) -> None:
        """Require that the process ends connections."""
        names = {raw.getsockname() for raw in connections}
        process = psutil.Process(self.pid)
        wait_until(lambda: names.isdisjoint(tuple(held.raddr) for held in process.net_connections("tcp4")))


def wait_until(is_so: Callable[[], bool]) -> None:
    """Wait for what comes sooner or later."""
    deadline = monotonic() + 60
    while not is_so():
        assert monotonic() < deadline
        sleep(0.05)


def waiting_for_locks(session: Session) -> int:
    """How many of the database's connections wait for a lock."""
    query = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    return int(session.execute(text(query)).scalar_one())


def statuses(connections: Sequence[socket.socket]) -> Counter[int]:
    """The statuses of the answers that are there, without reading them; 0: the connection was reset."""
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
    """A service and the id and port of its web process, with these settings."""
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
    """The service of the module; what attacks it is ended afterwards."""
    with ExitStack() as held:
        attacked = Attacked(*process, held)
        yield attacked
        attacked.require_answer()


def session_of_ada(service: Service) -> str:
    """The secret of a session of Ada's."""
    secret = secrets.token_urlsafe(32)
    with service.context.sessions.begin() as session:
        account = session.query(Account).filter_by(handle="ada").one()
        sessions.begin(session, account, secret=secret, browser=Browser("test", ""), now=datetime.now(UTC))
    return secret
