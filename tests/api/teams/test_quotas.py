"""Quotas: shown in advance, restored when an entry is cancelled, and never exceeded by parallel requests."""

import asyncio
from collections import Counter
from datetime import UTC, datetime, timedelta
from threading import Thread
from typing import Any

import httpx
import pytest
from sqlalchemy import text

from api.http import concurrent_requests, request_bodies
from scorer.db.jobs import job_queue
from scorer.jobs import leases, sweeps
from scorer.jobs.broker import transaction
from scorer.lifecycle import Queue
from tests.api.conftest import API, Service, refused
from tests.api.teams.membership import join
from tests.factories import let_time_pass, make_zip, noise_images
from tests.http_server import serve
from worker.dispatch import run_next
from worker.runtime.context import WorkerContext

pytestmark = pytest.mark.usefixtures("one_day")

CROWD = 200


def limits(service: Service, slug: str, who: str = "ada") -> Any:
    """Return the limits of a person's team."""
    answer = service.call(who, "GET", f"/competitions/{slug}/limits")
    assert answer.status_code == 200, answer.text
    return answer.json()


def cancel(service: Service, entry: Any, who: str = "ada") -> Any:
    return service.call(who, "POST", f"/submissions/{entry['id']}/cancel")


def submitted(service: Service, slug: str, who: str = "ada") -> Any:
    """Submit an entry that waits for its check."""
    answer = service.submit(who, slug, make_zip(noise_images(9)))
    assert answer.status_code == 202, answer.text
    return answer.json()


def claimed(context: WorkerContext, queue: Queue) -> leases.Claim:
    """Claim a job as a worker."""
    with transaction(context.sessions, context.broker) as session:
        held = leases.claim_job(session, queue, holder="h", worker="w", now=context.now(), lease=timedelta(seconds=60))
    assert held is not None
    return held


# Limits


def test_limits_are_shown_with_the_time_of_the_next_entry(service: Service) -> None:
    slug = service.competition(daily_limit=2, pending_limit=2, rejected_limit=4)
    before = datetime.now(UTC)
    fresh = limits(service, slug)
    tomorrow = (before + timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)
    assert datetime.fromisoformat(fresh["resets_at"]) == tomorrow
    assert before <= datetime.fromisoformat(fresh["next_entry_at"]) <= datetime.now(UTC)
    assert {name: fresh[name] for name in fresh if not name.endswith("_at")} == {
        "daily_limit": 2,
        "used_today": 0,
        "remaining_today": 2,
        "pending_limit": 2,
        "pending": 0,
        "rejected_limit": 4,
        "rejected_today": 0,
        "refusal": None,
        "stored_bytes": 0,
        "staged_bytes": 0,
        "max_bytes": 100 * 1024**3,
    }
    for _ in range(2):
        submitted(service, slug)
    full = limits(service, slug)
    assert (full["used_today"], full["remaining_today"], full["pending"]) == (2, 0, 2)
    assert full["refusal"] == "daily-limit"
    assert full["next_entry_at"] == full["resets_at"]
    refused(service.submit("ada", slug, make_zip(noise_images(9))), 429, "daily-limit")
    assert limits(service, slug, "bob")["used_today"] == 0
    refused(service.call(None, "GET", f"/competitions/{slug}/limits"), 401, "no-token")


def test_a_missing_daily_limit_is_null(service: Service) -> None:
    slug = service.competition(daily_limit=None, pending_limit=1)
    submitted(service, slug)
    seen = limits(service, slug)
    assert (seen["daily_limit"], seen["remaining_today"], seen["used_today"]) == (None, None, 1)
    assert (seen["refusal"], seen["next_entry_at"]) == ("pending-limit", None), (
        "the time when a pending entry ends is unknown"
    )


def test_no_next_entry_is_shown_after_the_close(service: Service) -> None:
    now = datetime.now(UTC)
    over = service.competition(closes_at=now - timedelta(minutes=1))
    assert limits(service, over)["next_entry_at"] is None
    last_day = service.competition(daily_limit=1, closes_at=now + timedelta(minutes=1))
    submitted(service, last_day)
    tomorrow = datetime.fromisoformat(limits(service, last_day)["resets_at"])
    expected = None if tomorrow >= now + timedelta(minutes=1) else tomorrow.isoformat()
    assert limits(service, last_day)["next_entry_at"] == expected


def test_limits_are_per_team_and_utc_day(service: Service) -> None:
    slug = service.competition(daily_limit=1)
    join(service, slug, "ada", "bob")
    submitted(service, slug, "bob")
    refused(service.submit("ada", slug, make_zip(noise_images(9))), 429, "daily-limit")
    with service.context.sessions.begin() as session:
        start = "date_trunc('day', now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC'"
        session.execute(text(f"UPDATE submissions SET accepted_at = {start} - interval '1 microsecond'"))
    assert limits(service, slug)["used_today"] == 0
    assert service.submit("ada", slug, make_zip(noise_images(9))).status_code == 202


# Cancelling


def test_a_cancelled_entry_uses_no_slot(service: Service) -> None:
    slug = service.competition(daily_limit=1, pending_limit=1)
    entry = submitted(service, slug)
    done = cancel(service, entry)
    assert (done.status_code, done.json()["status"]) == (200, "cancelled")
    assert done.json()["finished_at"] is not None
    assert done.json()["queue_position"] is None
    assert cancel(service, entry).json() == done.json(), "cancelling again changes nothing"
    assert limits(service, slug)["remaining_today"] == 1
    service.run_jobs()
    assert service.call("ada", "GET", f"/submissions/{entry['id']}").json()["status"] == "cancelled"
    submitted(service, slug)


def test_an_entry_can_be_cancelled_while_it_waits_for_its_score(service: Service) -> None:
    slug = service.competition(daily_limit=1)
    entry = submitted(service, slug)
    assert run_next(service.context, Queue.CHECK)
    assert cancel(service, entry).json()["status"] == "cancelled"
    assert not run_next(service.context, Queue.SCORE), "no job is left"


def test_cancelling_during_the_check_drops_the_check(service: Service) -> None:
    slug = service.competition(daily_limit=1)
    entry = submitted(service, slug)
    held = claimed(service.context, Queue.CHECK)
    context = service.context
    assert cancel(service, entry).json()["status"] == "cancelled"
    with transaction(context.sessions, context.broker) as session:
        assert not leases.finish_job(session, held, context.now())
    with transaction(context.sessions, context.broker) as session:
        let_time_pass(session, timedelta(days=1))
        assert sweeps.free_expired(session, now=context.now(), max_attempts=3) == 0
    assert not run_next(context, Queue.CHECK)


def test_an_entry_cannot_be_cancelled_during_scoring(service: Service) -> None:
    slug = service.competition(daily_limit=1)
    entry = submitted(service, slug)
    assert run_next(service.context, Queue.CHECK)
    claimed(service.context, Queue.SCORE)
    problem = refused(cancel(service, entry), 409, "too-late-to-cancel")
    assert problem["title"] == "The scoring of this entry has begun. You can only cancel an entry while it is waiting."
    assert limits(service, slug)["remaining_today"] == 0


def test_a_finished_entry_cannot_be_cancelled(service: Service) -> None:
    slug = service.competition()
    scored = service.scored("ada", slug, noise_images(10))
    refused(cancel(service, scored), 409, "too-late-to-cancel")
    with service.context.sessions.begin() as session:
        session.execute(text("UPDATE submissions SET status = 'rejected'"))
    problem = refused(cancel(service, scored), 409, "too-late-to-cancel")
    assert problem["title"].startswith("This entry is already rejected")


def test_only_the_team_can_cancel_an_entry(service: Service) -> None:
    slug = service.competition()
    join(service, slug, "ada", "bob")
    entry = submitted(service, slug)
    refused(cancel(service, entry, "eve"), 404, "no-submission")
    refused(cancel(service, entry, "organizer"), 403, "not-yours")
    assert cancel(service, entry, "bob").status_code == 200
    line = service.submit("organizer", slug, make_zip(noise_images(9)), benchmark="Line").json()
    assert cancel(service, line, "organizer").status_code == 200


def test_a_concurrent_cancel_and_worker_agree(service: Service) -> None:
    """The entry is either cancelled, without unfinished jobs, or it is scored."""
    slug = service.competition()
    ended = Counter[str]()
    for _ in range(8):
        entry = submitted(service, slug)
        worker = Thread(target=service.run_jobs)
        worker.start()
        answer = cancel(service, entry)
        worker.join()
        service.run_jobs()
        status = service.call("ada", "GET", f"/submissions/{entry['id']}").json()["status"]
        assert (answer.status_code, status) in {(200, "cancelled"), (409, "scored")}
        ended[status] += 1
    assert sum(ended.values()) == 8
    with service.context.sessions() as session:
        left = session.execute(text("SELECT count(*) FROM jobs WHERE state IN ('waiting', 'running')")).scalar_one()
        measured = session.execute(text("SELECT count(DISTINCT submission_ref) FROM measurements")).scalar_one()
    assert (left, measured) == (0, ended["scored"])


# Concurrent requests


def test_no_worker_starts_an_entry_that_is_being_cancelled(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = submitted(service, service.competition())
    begun = []
    cancel_jobs = job_queue.cancel_jobs

    def worker_comes_first(*args: Any, **subject: Any) -> None:
        begun.append(run_next(service.context, Queue.CHECK))
        cancel_jobs(*args, **subject)

    monkeypatch.setattr(job_queue, "cancel_jobs", worker_comes_first)
    answer = cancel(service, entry)
    assert (answer.status_code, answer.json()["status"], begun) == (200, "cancelled", [False])


async def crowd(address: str, slug: str, tokens: list[str], content: bytes) -> list[httpx.Response]:
    """Send all posts at the same time, each over its own connection."""
    open_ended = httpx.Limits(max_connections=CROWD)
    async with httpx.AsyncClient(base_url=f"{address}{API}", limits=open_ended, timeout=120) as client:
        posts = [
            client.post(
                f"/competitions/{slug}/submissions",
                content=content,
                headers={"Authorization": f"Bearer {tokens[number % len(tokens)]}"},
            )
            for number in range(CROWD)
        ]
        return await asyncio.gather(*posts)


def test_two_hundred_parallel_posts_leave_exactly_the_limit(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        request_bodies, "MAX_FILES_PER_ACCOUNT", CROWD
    )  # otherwise other limits would refuse most posts
    monkeypatch.setattr(concurrent_requests, "MAX_REQUESTS_PER_ACCOUNT", CROWD)
    slug = service.competition(daily_limit=5, pending_limit=100)
    join(service, slug, "ada", "bob")
    cancelled = submitted(service, slug)
    assert cancel(service, cancelled).status_code == 200
    team = [service.tokens[who] for who in ("ada", "bob")]
    with serve(service.app) as address:
        answers = asyncio.run(crowd(address, slug, team, make_zip(noise_images(9))))
    assert Counter(answer.status_code for answer in answers) == {202: 5, 429: CROWD - 5}
    late = [answer for answer in answers if answer.status_code == 429]
    assert {answer.json()["type"] for answer in late} == {"urn:kennel:problem:daily-limit"}
    assert all(0 < int(answer.headers["retry-after"]) <= 86_400 for answer in late)
    assert limits(service, slug)["used_today"] == 5
    listed = service.call("ada", "GET", f"/competitions/{slug}/submissions").json()["submissions"]
    assert Counter(entry["status"] for entry in listed) == {"received": 5, "cancelled": 1}
    with service.context.sessions() as session:
        jobs = session.execute(text("SELECT count(*) FROM jobs WHERE queue = 'check' AND state = 'waiting'"))
        assert jobs.scalar_one() == 5
