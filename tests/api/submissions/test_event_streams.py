"""Server-sent events of submissions, from a real server and with the worker's code."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from datetime import UTC, datetime
from itertools import count

import httpx
import psutil
import pytest
from sqlalchemy import text

from api.http import server_sent_events
from api.http.server_sent_events import EventHub
from deploy.standalone.ports import free_port
from scorer.db.jobs import job_queue
from scorer.db.session import use_one_snapshot
from scorer.errors import TooMany
from scorer.jobs import leases
from scorer.jobs.broker import waiting_messages
from scorer.lifecycle import Queue, Status
from scorer.submissions.progress import StatusSnapshot, SubmissionProgress, SubmissionStep, status_snapshots
from tests.api.accounts.grace import sign_in, sign_up
from tests.api.conftest import API, Service
from tests.api.submissions.streams import listen_to_events, read_events
from tests.conftest import addresses
from tests.db.claimed_jobs import LEASE
from tests.factories import make_zip, noise_images
from tests.http_server import serve
from worker.dispatch import run_next

NOW = datetime(2026, 3, 14, tzinfo=UTC)
STORY = ["received", "checking", "queued", "scoring", "scored"]


@pytest.fixture
def url(service: Service) -> Iterator[str]:
    """The address of a real server for the service."""
    with serve(service.app) as address:
        yield address


def statuses(events: list[dict[str, object]]) -> list[object]:
    """Return the statuses of the events, once for each id."""
    return [event["status"] for event in {event["id"]: event for event in events}.values()]


def test_a_listener_gets_every_step_as_it_happens(service: Service, url: str) -> None:
    slug = service.competition()
    entry = service.submit("ada", slug, make_zip(noise_images(10))).json()
    heard = []
    with listen_to_events(url, service.tokens["ada"], entry["id"]) as events:
        heard.append(next(events))
        assert heard[0]["queue_position"] == 1
        assert run_next(service.context, Queue.CHECK)
        while heard[-1]["status"] != "queued":
            heard.append(next(events))
        assert (heard[-1]["queue_position"], heard[-1]["over"]) == (1, False)
        assert run_next(service.context, Queue.SCORE)
        heard += events  # the stream ends
    assert statuses(heard) == STORY
    assert [event["over"] for event in heard] == [False] * (len(heard) - 1) + [True]


def test_a_reconnecting_listener_gets_every_event_once(service: Service, url: str) -> None:
    slug = service.competition()
    entry = service.submit("ada", slug, make_zip(noise_images(10))).json()
    token = service.tokens["ada"]
    with listen_to_events(url, token, entry["id"]) as events:
        last = next(events)["id"]
    service.run_jobs()
    with listen_to_events(url, token, entry["id"], last) as events:
        missed = list(events)
    assert [event["status"] for event in missed] == STORY[1:]
    with listen_to_events(url, token, entry["id"], "an unknown id") as events:
        assert [event["status"] for event in events] == STORY
    headers = {"Authorization": f"Bearer {token}", "Last-Event-ID": missed[-1]["id"]}
    answer = httpx.get(f"{url}{API}/submissions/{entry['id']}/events", headers=headers, trust_env=False)
    assert (answer.status_code, answer.content) == (204, b""), "browsers do not reconnect after a 204"


def test_events_do_not_show_the_private_track(service: Service, url: str) -> None:
    slug = service.competition()
    entry = service.submit("ada", slug, make_zip(noise_images(10))).json()
    assert run_next(service.context, Queue.CHECK)
    assert run_next(service.context, Queue.SCORE)
    with listen_to_events(url, service.tokens["ada"], entry["id"]) as events:
        before = list(events)
    service.run_jobs()
    assert service.call("organizer", "GET", f"/submissions/{entry['id']}").json()["private_state"] == "done"
    with listen_to_events(url, service.tokens["ada"], entry["id"]) as events:
        assert list(events) == before
    progress = ("stage", "stage_in_words", "fraction", "queue_position", "estimate_seconds")
    assert set(before[-1]) == {"id", "status", "at", "reason", "cancellable", "over", "paused", *progress}
    assert [before[-1][name] for name in progress] == [None] * 5
    assert before[-1]["paused"] is False


def test_a_stage_is_described_in_words(service: Service, url: str) -> None:
    slug = service.competition()
    entry = service.submit("ada", slug, make_zip(noise_images(10))).json()
    assert run_next(service.context, Queue.CHECK)
    with service.context.sessions.begin() as session:
        now = service.context.now()
        held = leases.claim_job(session, Queue.SCORE, holder="h", worker="w", now=now, lease=LEASE)
        assert held
        assert job_queue.renew_lease(session, held.job.id, held.holder, stage="neighbours", fraction=0.62, lease=LEASE)
    with listen_to_events(url, service.tokens["ada"], entry["id"]) as events:
        newest = next(event for event in events if event["status"] == "scoring")
    words = "finding the nearest neighbours"
    assert (newest["stage"], newest["stage_in_words"], newest["fraction"]) == ("neighbours", words, 0.62)


def test_only_the_team_and_organizers_can_listen(service: Service, url: str) -> None:
    slug = service.competition()
    entry = service.scored("ada", slug, noise_images(10))
    path = f"{url}{API}/submissions/{entry['id']}/events"
    answers = {
        who: httpx.get(path, headers={"Authorization": f"Bearer {service.tokens[who]}"}, trust_env=False).status_code
        for who in ("ada", "bob", "organizer")
    }
    assert answers == {"ada": 200, "bob": 404, "organizer": 200}
    assert httpx.get(path, trust_env=False).status_code == 401
    unknown = httpx.get(
        path.replace(entry["id"], "x"), headers={"Authorization": f"Bearer {service.tokens['bob']}"}, trust_env=False
    )
    assert unknown.json()["type"] == "urn:kennel:problem:no-submission"


def test_a_browser_can_listen_with_its_cookie(service: Service, url: str) -> None:
    slug = service.competition()
    assert sign_up(service).status_code == 201
    csrf = sign_in(service).json()["csrf_token"]
    entry = service.http.post(
        f"{API}/competitions/{slug}/submissions", content=make_zip(noise_images(10)), headers={"X-CSRF-Token": csrf}
    ).json()
    service.run_jobs()
    cookies = {"kennel": service.http.cookies["kennel"]}
    headers = {"Accept": "text/event-stream", "Sec-Fetch-Site": "same-origin"}
    answer = httpx.get(
        f"{url}{API}/submissions/{entry['id']}/events", cookies=cookies, headers=headers, trust_env=False
    )
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert answer.headers["cache-control"] == "no-store"
    assert [event["status"] for event in read_events(iter(answer.text.splitlines()))] == STORY


def test_queue_positions_show_fair_turns_and_public_scores_first(service: Service, url: str) -> None:
    slug = service.competition()
    entries = [
        ("ada", noise_images(20)),
        ("ada", noise_images(21)),
        ("ada", noise_images(22)),
        ("bob", noise_images(23)),
    ]
    ids = [service.submit(who, slug, make_zip(images)).json()["id"] for who, images in entries]
    while run_next(service.context, Queue.CHECK):
        pass
    positions = [
        service.call(who, "GET", f"/submissions/{entry_id}").json()["queue_position"]
        for (who, _), entry_id in zip(entries, ids, strict=True)
    ]
    assert positions == [1, 3, 4, 2], "ada's second entry waits behind bob's first"
    ended: list[str] = []
    while len(ended) < 4:
        assert run_next(service.context, Queue.SCORE)
        seen = {entry_id: service.call("organizer", "GET", f"/submissions/{entry_id}").json() for entry_id in ids}
        ended += [entry_id for entry_id in ids if seen[entry_id]["status"] == "scored" and entry_id not in ended]
        assert {seen[entry_id]["private_state"] for entry_id in ids} <= {None, "waiting"}
    assert ended == [ids[0], ids[3], ids[1], ids[2]]
    assert len(service.call(None, "GET", f"/competitions/{slug}/leaderboard").json()["entries"]) == 2
    assert waiting_messages(service.context.broker)[Queue.SCORE] > 0


def test_status_snapshots_show_one_moment(service: Service) -> None:
    slug = service.competition()
    ref = service.entered("ada", slug, make_zip(noise_images(10)))["ref"]
    now = service.context.now()
    with service.context.sessions.begin() as session:
        use_one_snapshot(session)
        before = status_snapshots(session, {ref: 0}, now=now)
        service.run_jobs()
        assert status_snapshots(session, {ref: 0}, now=now) == before
    with service.context.sessions.begin() as session:
        assert [step.status for step in status_snapshots(session, {ref: 0}, now=now)[ref].steps] == STORY


# Many listeners


@asynccontextmanager
async def followers(url: str, wanted: list[tuple[str, str]]) -> AsyncIterator[list[httpx.Response]]:
    """Open a stream for each (token, submission id). Each token has its own network address, because the streams of an
    address are limited."""
    limits = httpx.Limits(max_connections=None)
    async with AsyncExitStack() as stack:
        clients = {
            token: await stack.enter_async_context(
                httpx.AsyncClient(timeout=60, transport=httpx.AsyncHTTPTransport(local_address=address, limits=limits))
            )
            for token, address in zip(dict(wanted), (f"127.0.0.{last}" for last in count(2)), strict=False)
        }
        answers = []
        for token, submission_id in wanted:
            request = clients[token].build_request(
                "GET", f"{url}{API}/submissions/{submission_id}/events", headers={"Authorization": f"Bearer {token}"}
            )
            answers.append(await clients[token].send(request, stream=True))
        try:
            yield answers
        finally:
            for answer in answers:
                await answer.aclose()


def test_many_idle_listeners_cost_little(service: Service, url: str) -> None:
    slug = service.competition()
    people = ("ada", "bob", "eve", "organizer")
    entry = {
        who: service.submit(
            who, slug, make_zip(noise_images(30 + number)), **({"benchmark": "b"} if who == "organizer" else {})
        )
        for number, who in enumerate(people)
    }
    wanted = [(service.tokens[who], entry[who].json()["id"]) for who in people for _ in range(40)]

    async def listen() -> tuple[int, float, float, int]:
        me = psutil.Process()
        threads = me.num_threads()
        begun = sum(me.cpu_times()[:2])
        async with followers(url, wanted) as answers:
            assert {answer.status_code for answer in answers} == {200}
            spent = sum(me.cpu_times()[:2])
            opening = spent - begun
            await asyncio.sleep(3)
            spent = sum(me.cpu_times()[:2]) - spent
            held = _connections(service)
            return me.num_threads() - threads, opening, spent, held

    threads, opening, spent, held = asyncio.run(listen())
    assert len(wanted) == 160
    # Both are processor times of this process, so a slow machine affects both.
    assert spent < opening / 2, f"{spent:.2f} s of CPU time in 3 s; opening took {opening:.2f} s"
    assert held < 40, "streams hold no database connections"
    assert threads < 50, "streams hold no threads"


def _connections(service: Service) -> int:
    with service.context.sessions() as session:
        return int(
            session.scalar(text("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()")) or 0
        )


# The hub alone


class Source:
    """The source of status snapshots. Records the number of submissions in each query."""

    def __init__(self) -> None:
        self.steps: dict[int, list[SubmissionStep]] = {}
        self.progress = SubmissionProgress()
        self.queries: list[int] = []
        self.broken = False

    def __call__(self, seen: Mapping[int, int]) -> dict[int, StatusSnapshot]:
        self.queries.append(len(seen))
        if self.broken:
            raise ConnectionError("away")
        return {
            ref: StatusSnapshot(tuple(step for step in self.steps.get(ref, ()) if step.id > after), self.progress)
            for ref, after in seen.items()
        }


async def _soon(true: Callable[[], bool]) -> None:
    """Wait up to 60 s until a condition holds."""
    async with asyncio.timeout(60):
        while not true():
            await asyncio.sleep(0.01)


def step(number: int, status: Status = Status.QUEUED) -> SubmissionStep:
    return SubmissionStep(number, status, NOW)


def test_one_query_serves_all_listeners() -> None:
    async def run() -> None:
        source = Source()
        hub = EventHub(source, seconds=0.01)
        streams = [
            hub.follow(ref, StatusSnapshot((step(ref),), SubmissionProgress()), after=0, account_id=ref)
            for ref in range(1, 301)
            for _ in range(2)
        ]
        for stream in streams:
            assert await anext(stream)
        assert hub.listeners == 600
        await _soon(lambda: len(source.queries) >= 3)
        assert set(source.queries) == {300}
        for stream in streams:
            await stream.aclose()
        assert hub.listeners == 0
        await _soon(lambda: hub._polling_task is None)
        queries = len(source.queries)
        await asyncio.sleep(0.1)
        assert len(source.queries) == queries, "without listeners there are no queries"

    asyncio.run(run())


def test_a_listener_survives_an_absent_database() -> None:
    async def run() -> None:
        source = Source()
        source.broken = True
        hub = EventHub(source, seconds=0.01)
        stream = hub.follow(1, StatusSnapshot((step(1),), SubmissionProgress()), after=0, account_id=1, heartbeat=0.05)
        assert await anext(stream) == (step(1), SubmissionProgress())
        assert await anext(stream) is None, "a heartbeat"
        source.steps[1] = [step(1), step(2, Status.SCORING), step(3), step(4, Status.SCORED)]
        source.broken = False
        heard = [state async for state in stream if state is not None]
        assert [step_seen.id for step_seen, _ in heard] == [2, 3, 4]

    asyncio.run(run())


def test_progress_is_sent_only_when_it_changes() -> None:
    async def run() -> None:
        source = Source()
        source.progress = SubmissionProgress(queue_position=2)
        hub = EventHub(source, seconds=0.01)
        stream = hub.follow(1, StatusSnapshot((step(7),), source.progress), after=0, account_id=1, heartbeat=0.1)
        assert await anext(stream) == (step(7), SubmissionProgress(queue_position=2))
        assert await anext(stream) is None
        source.progress = SubmissionProgress(queue_position=1)
        assert await anext(stream) == (step(7), SubmissionProgress(queue_position=1))
        again = hub.follow(1, StatusSnapshot((step(7),), source.progress), after=7, account_id=1)
        assert await anext(again) == (step(7), SubmissionProgress(queue_position=1)), (
            "a reconnecting listener gets the progress"
        )

    asyncio.run(run())


def test_the_streams_of_an_account_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_sent_events, "MAX_STREAMS", 2)

    async def run() -> None:
        hub = EventHub(Source())
        for _ in range(2):
            hub.require_free_stream(1)
            stream = hub.follow(1, StatusSnapshot((step(1),), SubmissionProgress()), after=0, account_id=1)
            assert await anext(stream)
            keep.append(stream)
        with pytest.raises(TooMany):
            hub.require_free_stream(1)
        hub.require_free_stream(2)

    keep: list[object] = []
    asyncio.run(run())


def test_a_stream_ends_after_its_lifetime_and_with_the_service(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run(end: Callable[[EventHub], None]) -> None:
        hub = EventHub(Source())
        stream = hub.follow(1, StatusSnapshot((step(1),), SubmissionProgress()), after=0, account_id=1, heartbeat=0.05)
        assert await anext(stream)
        end(hub)
        assert [state async for state in stream if state is not None] == []

    asyncio.run(asyncio.wait_for(run(EventHub.close), 60))
    monkeypatch.setattr(server_sent_events, "STREAM_LIFETIME_SECONDS", 0.2)
    asyncio.run(asyncio.wait_for(run(lambda _: None), 60))


def test_shutdown_does_not_wait_for_listeners(service: Service) -> None:
    slug = service.competition()
    entry = service.submit("ada", slug, make_zip(noise_images(10))).json()
    port = free_port()
    environment = os.environ | addresses(service.context.settings)
    command = [sys.executable, "-m", "uvicorn", "--factory", "api.main:served_app", "--port", str(port)]
    with subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL) as server:
        try:
            _wait_for(f"http://127.0.0.1:{port}{API}/health")
            with listen_to_events(f"http://127.0.0.1:{port}", service.tokens["ada"], entry["id"]) as events:
                assert next(events)["status"] == "received"
                server.send_signal(signal.SIGTERM)
                assert list(events) == []
            assert server.wait(60) in {0, -signal.SIGTERM}
        finally:
            server.kill()


def _wait_for(url: str) -> None:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        with suppress(httpx.TransportError):
            if httpx.get(url, trust_env=False).status_code == 200:
                return
        time.sleep(0.1)
    pytest.fail("The server did not start.")
