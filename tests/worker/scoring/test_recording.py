"""Recording results while the database is busy, away, or silent about a commit."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import event, text
from sqlalchemy.engine import Connection
from sqlalchemy.orm import Session

from scorer.db import competitions
from scorer.db.tables import Job, Measurement, Submission
from scorer.jobs.broker import transaction
from scorer.lifecycle import Queue
from tests.api.conftest import Service
from tests.factories import noise_images, zip_of
from tests.lost_acknowledgement import lost_acknowledgement
from worker.dispatch import run_next
from worker.runtime import recording

MAX_TRIES = 3


@pytest.fixture
def slug(service: Service) -> str:
    return service.competition()


@pytest.fixture
def checked(service: Service, slug: str) -> str:
    """The id of an entry that waits for its public score."""
    answer = service.submit("ada", slug, zip_of(noise_images(10)))
    assert run_next(service.context, Queue.CHECK)
    entry: str = answer.json()["id"]
    return entry


@contextmanager
def impatient(service: Service) -> Iterator[None]:
    """The worker's transactions wait for a lock no longer than 50 ms."""

    def set_timeout(connection: Connection) -> None:
        connection.exec_driver_sql("SET LOCAL lock_timeout = '50ms'")

    engine = service.context.sessions.kw["bind"]
    event.listen(engine, "begin", set_timeout)
    yield
    event.remove(engine, "begin", set_timeout)


def state_of(service: Service, entry: str) -> tuple[str, int, list[int]]:
    """The entry's status, its measurements, and the attempts that its finished scoring jobs took."""
    with service.context.sessions() as session:
        submission = session.query(Submission).filter_by(id=entry).one()
        jobs = session.query(Job).filter_by(submission_ref=submission.ref, queue="score", state="done")
        return submission.status, session.query(Measurement).count(), [job.attempts for job in jobs]


def test_a_score_waits_until_a_lock_is_free(
    service: Service, slug: str, checked: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While an organizer publishes, the competition is locked against the private track's job."""
    pauses = []
    with service.context.sessions.begin() as publishing:
        competitions.lock_competition(publishing, slug, share=False)

        def pause(seconds: float) -> None:
            pauses.append(seconds)
            if len(pauses) == MAX_TRIES:
                publishing.rollback()

        monkeypatch.setattr("worker.runtime.recording.sleep", pause)
        with impatient(service):
            assert run_next(service.context, Queue.SCORE)
    assert pauses == list(recording.RETRY_SECONDS[:MAX_TRIES])
    assert state_of(service, checked) == ("scored", 1, [1])


def test_a_score_waits_until_the_database_takes_writes(
    service: Service, checked: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []

    @contextmanager
    def read_only(*arguments: Any) -> Iterator[Session]:
        with transaction(*arguments) as session:
            if len(pauses) < MAX_TRIES:
                session.execute(text("SET TRANSACTION READ ONLY"))
            yield session

    monkeypatch.setattr("worker.runtime.recording.transaction", read_only)
    monkeypatch.setattr("worker.runtime.recording.sleep", pauses.append)
    assert run_next(service.context, Queue.SCORE)
    assert pauses == list(recording.RETRY_SECONDS[:MAX_TRIES])
    assert state_of(service, checked) == ("scored", 1, [1])


def test_a_commit_without_an_acknowledgement_is_recorded_once(
    service: Service, checked: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("worker.runtime.recording.sleep", lambda _: None)
    with lost_acknowledgement(Measurement) as lost:
        assert run_next(service.context, Queue.SCORE)
    assert lost == ["measurements"]
    assert state_of(service, checked) == ("scored", 1, [1])


def test_a_database_that_stays_away_costs_an_attempt(
    service: Service, slug: str, checked: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("worker.runtime.recording.sleep", lambda _: None)
    with service.context.sessions.begin() as publishing, impatient(service):
        competitions.lock_competition(publishing, slug, share=False)
        assert run_next(service.context, Queue.SCORE)
    assert state_of(service, checked) == ("queued", 0, [])
