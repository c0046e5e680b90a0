"""While an attack on a web process is held open, it stays within its bounds and answers another visitor."""

import json
import re
import secrets
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic, sleep

import httpx
import pytest

from api.http.csrf import csrf_token
from api.http.multipart import MAX_BYTES_BEFORE_FILE
from api.http.request_bodies import MAX_FILES_OF_AN_ACCOUNT
from api.http.server_protocol import MAX_CONNECTIONS, MAX_CONNECTIONS_OF_AN_ADDRESS, MAX_HEADER_BYTES
from deploy.standalone.ephemeral import Servers
from scorer.accounts import sessions
from scorer.accounts.sessions import Browser
from scorer.db.tables import Account
from scorer.open_files import MAX_OPEN_FILES, raise_open_files_limit
from tests.api.conftest import API, Service, running_service
from tests.api.http.web_process import is_answered, resident_bytes, web_process
from tests.conftest import fresh_settings

pytestmark = pytest.mark.heavy
MAX_GROWTH = 64 << 20
MAX_REQUESTS, MAX_ACCOUNTS, MAX_FILE_BYTES = 300, 5, 200_000
"""Of an address in a minute, of an address in an hour, and of a zip: settings of the process that make tests fast."""
MAX_THREADS = 40 + 16
"""For requests, and for everything else."""
ADDRESSES = iter(f"127.0.1.{number}" for number in range(1, 255))
"""Those of attackers. Each attack has its own."""
TRAILERS = b"GET /healthz HTTP/1.1\r\nHost: kennel\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n"


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

    @property
    def files(self) -> int:
        """The files and connections that the process has open."""
        return len(list(Path(f"/proc/{self.pid}/fd").iterdir()))

    @property
    def threads(self) -> int:
        """The threads of the process."""
        return len(list(Path(f"/proc/{self.pid}/task").iterdir()))

    def require_answer(self) -> None:
        """Require an answer to another visitor: the attack is read by then, as its bytes came first."""
        deadline = monotonic() + 60
        while not is_answered(self.port):
            assert monotonic() < deadline
            sleep(0.05)


@pytest.fixture(scope="module")
def process(servers: Servers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Service, int, int]]:
    """A service and the id and port of its web process."""
    raise_open_files_limit()
    folder = tmp_path_factory.mktemp("attacked")
    rates = json.dumps({"request": f"{MAX_REQUESTS}/minute", "sign-up": f"{MAX_ACCOUNTS}/hour"})
    variables = {"KENNEL_RATES": rates, "KENNEL_MAX_UPLOAD_BYTES": str(MAX_FILE_BYTES)}
    with (
        fresh_settings(servers, folder) as settings,
        running_service(settings) as service,
        web_process(service, folder, **variables) as (pid, port),
    ):
        yield service, pid, port


@pytest.fixture
def attacked(process: tuple[Service, int, int]) -> Iterator[Attacked]:
    """The service; what attacks it is ended afterwards."""
    with ExitStack() as held:
        attacked = Attacked(*process, held)
        yield attacked
        attacked.require_answer()


@contextmanager
def bounded_memory(attacked: Attacked) -> Iterator[None]:
    """Require that the process does not grow, and answers, while the connections of the context are open."""
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
def test_bytes_that_are_no_body_cost_little_memory(attacked: Attacked, head: bytes, line: bytes) -> None:
    source, below = next(ADDRESSES), line * ((MAX_HEADER_BYTES - 2 * len(head)) // len(line))
    with bounded_memory(attacked):
        for _ in range(50):
            attacked.connect(source, head + below)
        for _ in range(2):
            attacked.connect(source, head + line * ((32 << 20) // len(line)))


def test_forms_cost_little_memory(attacked: Attacked) -> None:
    slug, secret = attacked.service.competition(), _session(attacked.service)
    head = (
        f"POST /competitions/{slug}/submit HTTP/1.1\r\nHost: kennel\r\nCookie: kennel={secret}\r\n"
        "Content-Type: multipart/form-data; boundary=b\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    fields = [f'--b\r\nContent-Disposition: form-data; name="csrf"\r\n\r\n{csrf_token(secret)}\r\n']
    fields += [f'--b\r\nContent-Disposition: form-data; name="{n}"\r\n\r\n{"x" * 500_000}\r\n' for n in range(20)]
    chunks = "".join(f"{len(field):x}\r\n{field}\r\n" for field in fields)
    assert len(chunks) > MAX_BYTES_BEFORE_FILE
    with bounded_memory(attacked):
        for _ in range(MAX_FILES_OF_AN_ACCOUNT):
            attacked.connect(next(ADDRESSES), (head + chunks).encode())


def test_an_address_has_few_connections_and_all_have_a_bound(attacked: Attacked) -> None:
    """Each file that the process has open is a connection here. Ten addresses have more than the process takes."""
    limits = Path(f"/proc/{attacked.pid}/limits").read_text()
    (soft, hard) = re.findall(r"Max open files +(\d+) +(\d+)", limits)[0]
    assert int(soft) == min(int(hard), MAX_OPEN_FILES)
    before, others = attacked.files, 64
    source = next(ADDRESSES)
    for _ in range(MAX_CONNECTIONS_OF_AN_ADDRESS + 100):
        attacked.connect(source, b"GET / HTT")
    attacked.require_answer()
    assert MAX_CONNECTIONS_OF_AN_ADDRESS <= attacked.files < before + MAX_CONNECTIONS_OF_AN_ADDRESS + others
    for _ in range(MAX_CONNECTIONS // MAX_CONNECTIONS_OF_AN_ADDRESS + 1):
        source = next(ADDRESSES)
        for _ in range(MAX_CONNECTIONS_OF_AN_ADDRESS):
            attacked.connect(source, b"GET / HTT")
    attacked.require_answer()
    assert MAX_CONNECTIONS <= attacked.files < before + MAX_CONNECTIONS + others


def test_requests_at_the_same_time_take_a_bounded_number_of_threads(attacked: Attacked) -> None:
    before = attacked.threads
    request = f"GET {API}/competitions HTTP/1.1\r\nHost: kennel\r\n\r\n".encode()
    for source in (next(ADDRESSES), next(ADDRESSES)):
        for _ in range(MAX_CONNECTIONS_OF_AN_ADDRESS):
            attacked.connect(source, request)
    attacked.require_answer()
    assert attacked.threads <= before + MAX_THREADS


def test_requests_of_an_address_are_counted(attacked: Attacked) -> None:
    """So is the processor time that they take."""
    source = next(ADDRESSES)
    with httpx.Client(transport=httpx.HTTPTransport(local_address=source)) as http:
        statuses = [http.get(f"http://127.0.0.1:{attacked.port}/").status_code for _ in range(MAX_REQUESTS + 50)]
        attacked.require_answer()
    assert statuses.count(200) <= MAX_REQUESTS * 2, "a minute may have ended meanwhile"
    assert set(statuses) == {200, 429}


def test_an_address_makes_few_rows(attacked: Attacked) -> None:
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


def test_an_account_fills_no_disk(attacked: Attacked) -> None:
    """Each of its files is refused at its limit, and it sends few at the same time."""
    slug = attacked.service.competition()
    folder = Path(attacked.service.context.settings.blob_url.removeprefix("file://"))
    before = _stored_bytes(folder)
    head = (
        f"POST {API}/competitions/{slug}/submissions HTTP/1.1\r\nHost: kennel\r\n"
        f"Authorization: Bearer {attacked.service.tokens['ada']}\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    chunk = b"10000\r\n" + b"x" * (1 << 16) + b"\r\n"
    for chunks in (2, 20):
        for _ in range(2 * MAX_FILES_OF_AN_ACCOUNT):
            attacked.connect(next(ADDRESSES), head.encode() + chunk * chunks)
    attacked.require_answer()
    assert 0 < _stored_bytes(folder) - before <= MAX_FILES_OF_AN_ACCOUNT * MAX_FILE_BYTES


def test_small_pieces_of_an_upload_make_few_files(attacked: Attacked) -> None:
    """The last piece is still being sent. A file more may be on its way to replace another."""
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
    files = list(folder.rglob("*"))
    assert pieces <= sum(path.stat().st_size for path in files)
    assert len(files) <= 2


def _stored_bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _session(service: Service) -> str:
    """The secret of a session of Ada's."""
    secret = secrets.token_urlsafe(32)
    with service.context.sessions.begin() as session:
        account = session.query(Account).filter_by(handle="ada").one()
        sessions.begin(session, account, secret=secret, browser=Browser("test", ""), now=datetime.now(UTC))
    return secret
