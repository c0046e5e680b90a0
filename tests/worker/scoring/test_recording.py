"""Recording results while the database is busy, down, or does not acknowledge a commit, and the worker's log."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import event, text
from sqlalchemy.engine import Connection
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session

from scorer.db import competitions
from scorer.db.tables import Job, Measurement, Submission
from scorer.lifecycle import Queue
from scorer.submissions import outcomes
from tests.api.conftest import Service
from tests.api.unusable_store import unusable_folder
from tests.factories import make_zip, noise_images
from tests.lost_acknowledgement import lost_acknowledgement
from worker import dispatch
from worker.dispatch import run_next
from worker.runtime import recording
from worker.runtime.heartbeat import Heartbeat
from worker.runtime.recording import one_line_in_outages

MAX_TRIES = 3


@pytest.fixture
def slug(service: Service) -> str:
    return service.competition()


@pytest.fixture
def checked(service: Service, slug: str) -> str:
    """The id of an entry that waits for its public score."""
    answer = service.submit("ada", slug, make_zip(noise_images(10)))
    assert run_next(service.context, Queue.CHECK)
    entry: str = answer.json()["id"]
    return entry


@contextmanager
def impatient(service: Service) -> Iterator[None]:
    """Limit the worker's waits for a lock to 50 ms."""

    def set_timeout(connection: Connection) -> None:
        connection.exec_driver_sql("SET LOCAL lock_timeout = '50ms'")

    engine = service.context.sessions.kw["bind"]
    event.listen(engine, "begin", set_timeout)
    yield
    event.remove(engine, "begin", set_timeout)


def load_entry_state(service: Service, entry: str) -> tuple[str, int, list[int]]:
    """The entry's status, the number of measurements, and the attempts of its finished scoring jobs."""
    with service.context.sessions() as session:
        submission = session.query(Submission).filter_by(id=entry).one()
        jobs = session.query(Job).filter_by(submission_ref=submission.ref, queue="score", state="done")
        return submission.status, session.query(Measurement).count(), [job.attempts for job in jobs]


def test_recording_waits_until_a_lock_is_free(
    service: Service, slug: str, checked: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A publication locks the competition, which the private track's job needs."""
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
    assert load_entry_state(service, checked) == ("scored", 1, [1])


def test_recording_waits_until_the_database_accepts_writes(
    service: Service, checked: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []

    record = outcomes.record_measurement

    def record_read_only(session: Session, *arguments: Any, **named: Any) -> bool:
        if len(pauses) < MAX_TRIES:
            session.execute(text("SET TRANSACTION READ ONLY"))
        return record(session, *arguments, **named)

    monkeypatch.setattr(outcomes, "record_measurement", record_read_only)
    monkeypatch.setattr("worker.runtime.recording.sleep", pauses.append)
    assert run_next(service.context, Queue.SCORE)
    assert pauses == list(recording.RETRY_SECONDS[:MAX_TRIES])
    assert load_entry_state(service, checked) == ("scored", 1, [1])


def test_a_commit_without_an_acknowledgement_is_recorded_once(
    service: Service, checked: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("worker.runtime.recording.sleep", lambda _: None)
    with lost_acknowledgement(Measurement) as lost:
        assert run_next(service.context, Queue.SCORE)
    assert lost == ["measurements"]
    assert load_entry_state(service, checked) == ("scored", 1, [1])


def test_a_long_database_outage_costs_an_attempt(
    service: Service, slug: str, checked: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("worker.runtime.recording.sleep", lambda _: None)
    with service.context.sessions.begin() as publishing, impatient(service):
        competitions.lock_competition(publishing, slug, share=False)
        assert run_next(service.context, Queue.SCORE)
    assert load_entry_state(service, checked) == ("queued", 0, [])


def lost(*_: object, **__: object) -> None:
    """Raise the error of a lost database connection."""
    raise OperationalError("SELECT secret", {"password": "hunter2"}, OSError("it went away"))


def broken(*_: object, **__: object) -> None:
    """Raise a programming error."""
    raise ZeroDivisionError


def test_a_task_without_database_ends_in_one_line(caplog: pytest.LogCaptureFixture) -> None:
    with one_line_in_outages():
        lost()
    (record,) = caplog.records
    assert (record.levelname, record.exc_info) == ("WARNING", None)
    assert "it went away" in record.getMessage()
    assert "hunter2" not in record.getMessage()
    with pytest.raises(ZeroDivisionError), one_line_in_outages():
        broken()


def test_a_task_without_blob_store_ends_in_one_line(service: Service, caplog: pytest.LogCaptureFixture) -> None:
    blobs = service.context.blobs
    with unusable_folder(service.context.settings), one_line_in_outages():
        blobs.write("k", b"x")
    (record,) = (record for record in caplog.records if record.levelname == "WARNING")
    assert record.exc_info is None
    assert "Not a directory" in record.getMessage()


@pytest.mark.parametrize(("fault", "tracebacks"), [(lost, 0), (broken, 1)], ids=["lost", "ours"])
def test_only_unexpected_failures_have_a_traceback(
    service: Service, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, fault: object, tracebacks: int
) -> None:
    slug = service.competition()
    made = service.submit("ada", slug, make_zip(noise_images(9)))
    assert made.status_code == 202
    monkeypatch.setitem(dispatch.JOB_FUNCTIONS, Queue.CHECK, fault)
    caplog.set_level(logging.INFO)
    caplog.clear()
    assert dispatch.run_next(service.context, Queue.CHECK)
    assert sum(record.exc_info is not None for record in caplog.records) == tracebacks
    assert "hunter2" not in caplog.text


def test_a_heartbeat_without_database_is_one_line(
    service: Service, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(Heartbeat, "_beat", lost)
    beats = iter([False, True])
    slug = service.competition()
    assert service.submit("ada", slug, make_zip(noise_images(9))).status_code == 202

    def beat_once(_context: object, _claim: object, heartbeat: Heartbeat) -> None:
        monkeypatch.setattr(heartbeat._end, "wait", lambda _seconds: next(beats))
        heartbeat._run()

    monkeypatch.setitem(dispatch.JOB_FUNCTIONS, Queue.CHECK, beat_once)
    caplog.clear()
    assert dispatch.run_next(service.context, Queue.CHECK)
    failed = [record for record in caplog.records if "heartbeat" in record.getMessage()]
    assert [(record.levelname, record.exc_info) for record in failed] == [("WARNING", None)]
