"""The shown start, close and daily limit are enforced exactly, at any time and in any time zone."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import update

from api.http import received_blobs
from api.http.dependencies import request_time
from api.submissions import file_uploads
from scorer.db.tables import Competition, Submission
from tests.api.conftest import Service, read_problem
from tests.examples import examples
from tests.factories import make_zip, noise_images

START = datetime(2026, 3, 1, 10, 30, tzinfo=UTC)
SECOND, MOMENT = timedelta(seconds=1), timedelta(microseconds=1)
ZONES = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
TIMES = st.datetimes(datetime(2026, 3, 2), datetime(2027, 3, 2)).map(  # noqa: DTZ001 - the next line sets UTC
    lambda time: time.replace(tzinfo=UTC)
)
NEAR = st.sampled_from([-SECOND, -MOMENT, timedelta(0), MOMENT, SECOND])
DISTANCES = NEAR | st.timedeltas(timedelta(days=-20), timedelta(days=20))
"""From a limit to the time of a request: often zero, or close to it."""
several = settings(
    max_examples=examples(60, everyday=15), suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)


@dataclass
class Clock:
    """The time of all requests."""

    now: datetime = START


@pytest.fixture
def clock(service: Service, monkeypatch: pytest.MonkeyPatch) -> Iterator[Clock]:
    """The clock of the service's requests, including uploads, which read it twice."""
    clock = Clock()
    for module in (file_uploads, received_blobs):
        monkeypatch.setattr(module, "utc_now", lambda: clock.now)
    service.app.dependency_overrides[request_time] = lambda: clock.now
    yield clock
    service.app.dependency_overrides.clear()


@pytest.fixture
def slug(service: Service) -> str:
    """A competition that accepts one entry a day and no uploads after its close."""
    return service.competition(daily_limit=1, upload_grace_seconds=0, opens_at=START - timedelta(days=400))


def shown(service: Service, path: str) -> Any:
    answer = service.call("ada", "GET", path)
    assert answer.status_code == 200, answer.text
    return answer.json()


def refusal(service: Service, slug: str) -> str:
    """Upload a file that is not a zip and return the refusal's slug: ``not-a-zip`` if entries are possible now."""
    return read_problem(service.submit("ada", slug, b"x"))[1]


def test_entries_are_accepted_while_the_competition_is_shown_as_open(service: Service, clock: Clock, slug: str) -> None:
    @several
    @given(first=TIMES, second=TIMES, zone=ZONES, from_start=st.booleans(), distance=DISTANCES)
    def holds(first: datetime, second: datetime, zone: timezone, from_start: bool, distance: timedelta) -> None:
        opens_at, closes_at = min(first, second), max(first, second) + SECOND
        _set_times(service, slug, opens_at, closes_at)
        clock.now = START
        written = closes_at.astimezone(zone).isoformat()
        answer = service.call("organizer", "PATCH", f"/competitions/{slug}", json={"closes_at": written})
        assert answer.status_code == 200, answer.text
        clock.now = (opens_at if from_start else closes_at) + distance
        organizers = service.call("organizer", "GET", f"/competitions/{slug}").json()
        assert datetime.fromisoformat(organizers["closes_at"]) == closes_at
        is_open = opens_at <= clock.now < closes_at
        assert (organizers["phase"] == "open") == is_open
        assert (refusal(service, slug) == "not-a-zip") == is_open
        _page_says(service, slug, opens_at, closes_at, clock.now)

    holds()


def _set_times(service: Service, slug: str, opens_at: datetime, closes_at: datetime) -> None:
    """Set the times in the database, because no request can change a start in the past."""
    with service.context.sessions.begin() as session:
        times = {"opens_at": opens_at, "closes_at": closes_at + timedelta(days=1)}
        session.execute(update(Competition).where(Competition.slug == slug).values(**times))


def _page_says(service: Service, slug: str, opens_at: datetime, closes_at: datetime, now: datetime) -> None:
    answer = service.http.get(f"/competitions/{slug}", headers={"Accept": "text/html"})
    if now < opens_at:
        assert answer.status_code == 404
        return
    assert f'datetime="{closes_at:%Y-%m-%dT%H:%M:%SZ}"' in answer.text
    assert ("Closed " in answer.text) == (now >= closes_at)
    assert ("Closes " in answer.text) == (now < closes_at)


def test_the_next_entry_is_accepted_from_the_shown_time(service: Service, clock: Clock, slug: str) -> None:
    clock.now = START
    _set_times(service, slug, START - timedelta(days=400), START + timedelta(days=800))
    assert service.submit("ada", slug, make_zip(noise_images(9))).status_code == 202

    @several
    @given(entered=TIMES, later=DISTANCES.map(abs))
    def holds(entered: datetime, later: timedelta) -> None:
        with service.context.sessions.begin() as session:
            session.execute(update(Submission).values(accepted_at=entered))
        clock.now = entered + later
        limits = shown(service, f"/competitions/{slug}/limits")
        possible = datetime.fromisoformat(limits["next_entry_at"])
        assert (limits["refusal"] is None) == (possible <= clock.now) == (refusal(service, slug) == "not-a-zip")
        assert limits["remaining_today"] == int(possible <= clock.now)
        clock.now = possible
        assert refusal(service, slug) == "not-a-zip"
        clock.now = entered
        limits = shown(service, f"/competitions/{slug}/limits")
        assert limits["refusal"] == "daily-limit"
        clock.now = datetime.fromisoformat(limits["next_entry_at"]) - MOMENT
        assert refusal(service, slug) == "daily-limit"

    holds()
