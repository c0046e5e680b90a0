"""A worker whose database is away says so in one line, and an error of ours in one traceback."""

import logging

import pytest
from sqlalchemy.exc import OperationalError

from scorer.lifecycle import Queue
from tests.api.conftest import Service
from tests.api.unusable_store import unusable_folder
from tests.factories import noise_images, zip_of
from worker import dispatch
from worker.runtime.heartbeat import Heartbeat
from worker.runtime.recording import one_line_in_outages


def lost(*_: object, **__: object) -> None:
    """What a database that went away raises."""
    raise OperationalError("SELECT secret", {"password": "hunter2"}, OSError("it went away"))


def broken(*_: object, **__: object) -> None:
    """An error of ours."""
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
def test_a_failed_attempt_has_a_traceback_only_where_it_is_unexpected(
    service: Service, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, fault: object, tracebacks: int
) -> None:
    slug = service.competition()
    made = service.submit("ada", slug, zip_of(noise_images(9)))
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
    assert service.submit("ada", slug, zip_of(noise_images(9))).status_code == 202

    def beat_once(_context: object, _claim: object, heartbeat: Heartbeat) -> None:
        monkeypatch.setattr(heartbeat._end, "wait", lambda _seconds: next(beats))
        heartbeat._run()

    monkeypatch.setitem(dispatch.JOB_FUNCTIONS, Queue.CHECK, beat_once)
    caplog.clear()
    assert dispatch.run_next(service.context, Queue.CHECK)
    failed = [record for record in caplog.records if "heartbeat" in record.getMessage()]
    assert [(record.levelname, record.exc_info) for record in failed] == [("WARNING", None)]
