"""A third-party tus client and our client on an unreliable network, and many parallel uploads."""

import hashlib
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from typing import Any

import pytest
from tusclient.client import TusClient
from tusclient.exceptions import TusUploadFailed

from api.main import MAX_JOINS, create_app
from kennel_client.api import ApiClient
from kennel_client.errors import Refused
from kennel_client.resumable import ByteProgress, PendingUpload, upload
from kennel_client.steps import MAX_TRIES, RETRY_SECONDS
from scorer.accounts import api_tokens
from scorer.blobs import Blobs, ReceivedBlob
from scorer.submissions.upload_bytes import PART_BYTES
from tests.api.conftest import API, Service
from tests.api.submissions.tus import ZIP, create, send
from tests.factories import make_account, make_zip, noise_images
from tests.flaky_proxy import FlakyProxy
from tests.http_server import serve

CUTS = 10
MEGABYTE = 10**6


def ignore(_sent: int, _total: int) -> None:
    """Ignore the progress."""


@pytest.mark.parametrize(
    ("count", "size", "megabytes"),
    [(104, 256, 20), pytest.param(130, 512, 100, marks=pytest.mark.slow)],
)
def test_an_upload_survives_ten_cut_connections(service: Service, count: int, size: int, megabytes: int) -> None:
    slug = service.competition(image_count=count, image_size=size)
    content = make_zip(noise_images(1, count, size))
    assert len(content) > megabytes * MEGABYTE
    second = create_app(service.context.settings)
    with serve(service.app) as one, serve(second, lifespan="on") as other:
        proxy = FlakyProxy([one, other], after=len(content) // (CUTS + 5), cuts=CUTS)
        with proxy.running() as address:
            client = TusClient(
                f"{address}{API}/competitions/{slug}/uploads",
                headers={"Authorization": f"Bearer {service.tokens['ada']}"},
            )
            uploader = client.uploader(
                file_stream=BytesIO(content), metadata={"filename": "big.zip"}, retries=50, retry_delay=0.1
            )
            uploader.upload()
    assert proxy.cut == CUTS
    assert proxy.bytes_carried < len(content) + CUTS * PART_BYTES, "the upload resumed and did not restart"
    (entry,) = service.call("ada", "GET", f"/competitions/{slug}/submissions").json()["submissions"]
    assert (entry["file_name"], entry["bytes"]) == ("big.zip", len(content))
    assert entry["sha256"] == hashlib.sha256(content).hexdigest()
    path = f"/uploads/{(uploader.url or '').rsplit('/', 1)[1]}"
    response = service.call("ada", "HEAD", path, headers={"Tus-Resumable": "1.0.0"})
    assert response.headers["kennel-submission"] == entry["id"]


def test_a_tus_client_sends_checksums_and_sees_refusals(service: Service) -> None:
    slug = service.competition()
    with serve(service.app) as server:
        client = TusClient(
            f"{server}{API}/competitions/{slug}/uploads",
            headers={"Authorization": f"Bearer {service.tokens['ada']}"},
        )
        good = make_zip(noise_images(9))
        client.uploader(file_stream=BytesIO(good), chunk_size=1000, upload_checksum=True).upload()
        with pytest.raises(TusUploadFailed) as caught:
            client.uploader(file_stream=BytesIO(good[:-1])).upload()
    assert caught.value.status_code == 422
    assert b"not-a-zip" in caught.value.response_content
    (entry,) = service.call("ada", "GET", f"/competitions/{slug}/submissions").json()["submissions"]
    assert entry["sha256"] == hashlib.sha256(good).hexdigest()


def test_our_client_resumes_after_lost_connections(service: Service) -> None:
    count, size = 40, 128
    slug = service.competition(image_count=count, image_size=size)
    content = make_zip(noise_images(3, count, size))
    seen: list[int] = []
    pauses: list[float] = []
    with serve(service.app) as server:
        proxy = FlakyProxy([server], after=len(content) // 4, cuts=3)
        with proxy.running() as address, ApiClient(address, service.tokens["ada"]) as client:

            def upload_zip(data: bytes, key: str, progress: ByteProgress = ignore) -> str:
                promise = PendingUpload(slug, "ours.zip", len(data), key, "n")
                return client.run(upload(promise, BytesIO(data), progress), sleep=pauses.append)

            made = upload_zip(content, "same key", progress=lambda sent, _: seen.append(sent))
            assert upload_zip(content, "same key") == made
            with pytest.raises(Refused, match="zip"):
                upload_zip(content[:-1], "another")
    assert proxy.cut == 3
    assert len(pauses) >= 3
    assert seen[-1] == len(content)
    assert proxy.bytes_carried < 4 * len(content)
    (entry,) = service.call("ada", "GET", f"/competitions/{slug}/submissions").json()["submissions"]
    assert (entry["id"], entry["file_name"], entry["note"]) == (made, "ours.zip", "n")


class BodyLimit:
    """An application behind a proxy that refuses bodies over ``limit`` bytes with an HTML page."""

    def __init__(self, app: Any, limit: int) -> None:
        self.app = app
        self.state = app.state
        self.limit = limit
        self.refused: list[int] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        length = int(dict(scope.get("headers", ())).get(b"content-length", b"0"))
        if length <= self.limit:
            await self.app(scope, receive, send)
            return
        self.refused.append(length)
        while (await receive()).get("more_body"):
            pass
        await send({"type": "http.response.start", "status": 413, "headers": [(b"content-type", b"text/html")]})
        await send({"type": "http.response.body", "body": b"<h1>413 Request Entity Too Large</h1>"})


def test_our_client_halves_its_requests_for_a_proxy_with_a_small_limit(service: Service) -> None:
    slug = service.competition(image_count=20, image_size=128)
    content = make_zip(noise_images(4, 20, 128))
    proxy: Any = BodyLimit(service.app, len(content) // 3)
    pauses: list[float] = []
    with serve(proxy) as server, ApiClient(server, service.tokens["ada"]) as client:
        pending = PendingUpload(slug, "ours.zip", len(content), "key")
        made = client.run(upload(pending, BytesIO(content), ignore), sleep=pauses.append)
        assert proxy.refused == [len(content), len(content) // 2]
        proxy.limit = 1000
        pending = PendingUpload(slug, "ours.zip", len(content), "other")
        with pytest.raises(Refused, match=r"proxy .* refuses requests of 65536 bytes") as caught:
            client.run(upload(pending, BytesIO(content), ignore), sleep=pauses.append)
    assert (caught.value.status, pauses) == (413, [])
    entry = service.call("ada", "GET", f"/submissions/{made}").json()
    assert entry["sha256"] == hashlib.sha256(content).hexdigest()


def test_our_client_gives_up_on_an_absent_service() -> None:
    pauses: list[float] = []
    with ApiClient("http://127.0.0.1:9", "none") as client, pytest.raises(Refused, match="No response"):
        client.run(upload(PendingUpload("any", "x.zip", 1, "key"), BytesIO(b"x"), ignore), sleep=pauses.append)
    assert len(pauses) == MAX_TRIES
    assert pauses[0] < pauses[4] <= RETRY_SECONDS[4] < pauses[-1] <= RETRY_SECONDS[-1]


REQUEST_THREADS = 40
"""anyio's threads. They run all blocking code of requests."""
PATIENCE = 60


class Gate:
    """Blocks the joining of uploads until it is opened, and counts the waiting uploads."""

    def __init__(self) -> None:
        self.opened = threading.Event()
        self.waiting = 0
        self._lock = threading.Lock()
        self.reached = threading.Semaphore(0)

    def join(self, store: Blobs, keys: Sequence[str], key: str) -> ReceivedBlob:
        """``Blobs.join`` behind the gate."""
        with self._lock:
            self.waiting += 1
        self.reached.release()
        assert self.opened.wait(PATIENCE)
        with self._lock:
            self.waiting -= 1
        return JOIN(store, keys, key)


JOIN = Blobs.join


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gate]:
    gate = Gate()

    def join(store: Blobs, keys: Sequence[str], key: str) -> ReceivedBlob:
        return gate.join(store, keys, key)

    monkeypatch.setattr(Blobs, "join", join)
    yield gate
    gate.opened.set()


def newcomers(service: Service, count: int) -> list[str]:
    """Create accounts and return their handles. The token of each account is its handle."""
    now = service.context.now()
    with service.context.sessions.begin() as session:
        people = [make_account(session, now) for _ in range(count)]
        for person in people:
            api_tokens.issue(session, person, person.handle, name="test", now=now)
    handles = [person.handle for person in people]
    service.tokens |= {handle: handle for handle in handles}
    return handles


def begun(service: Service, slug: str, who: str) -> str:
    """Create an upload and return its path below the API."""
    return str(create(service, slug, len(ZIP), who).headers["location"]).removeprefix(API)


@pytest.mark.usefixtures("one_day")
def test_uploads_that_end_together_leave_threads_for_other_requests(service: Service, gate: Gate) -> None:
    slug = service.competition(pending_limit=100, daily_limit=None)
    people = newcomers(service, REQUEST_THREADS)
    paths = [begun(service, slug, who) for who in people]
    with ThreadPoolExecutor(REQUEST_THREADS + 1) as pool:
        ends = [pool.submit(send, service, path, 0, ZIP, who) for who, path in zip(people, paths, strict=True)]
        for _ in range(MAX_JOINS):
            assert gate.reached.acquire(timeout=PATIENCE)
        try:
            board = pool.submit(service.call, "ada", "GET", f"/competitions/{slug}/leaderboard").result(PATIENCE)
            assert board.status_code == 200
            assert gate.waiting == MAX_JOINS
        finally:
            gate.opened.set()
        answers = [end.result(PATIENCE) for end in ends]
    assert [answer.text for answer in answers if answer.status_code != 204] == []
    assert len({answer.headers["kennel-submission"] for answer in answers}) == REQUEST_THREADS
