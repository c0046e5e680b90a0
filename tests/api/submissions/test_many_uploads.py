"""Many uploads at once: what they leave to other requests."""

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

from api.main import MAX_JOINS
from scorer.accounts import api_tokens
from scorer.blobs import Blobs, ReceivedBlob
from tests.api.conftest import API, Service
from tests.api.submissions.tus import ZIP, create, send
from tests.factories import make_account

REQUEST_THREADS = 40
"""anyio's threads, which run everything in a request that blocks."""
PATIENCE = 60


class Gate:
    """Lets uploads be joined only once it is opened, and counts those that wait before it."""

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
    """The handles of new accounts, each with a token of the same text."""
    now = service.context.now()
    with service.context.sessions.begin() as session:
        people = [make_account(session, now) for _ in range(count)]
        for person in people:
            api_tokens.issue(session, person, person.handle, name="test", now=now)
    handles = [person.handle for person in people]
    service.tokens |= {handle: handle for handle in handles}
    return handles


def begun(service: Service, slug: str, who: str) -> str:
    """The path of a new upload below the API."""
    return str(create(service, slug, len(ZIP), who).headers["location"]).removeprefix(API)


@pytest.mark.usefixtures("one_day")
def test_uploads_that_end_together_leave_threads_to_other_requests(service: Service, gate: Gate) -> None:
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
