"""Conditions that stop a worker from starting, and conditions that don't."""

import logging
import socket
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest
from redis import Redis

from api.health.routes import build_readiness
from scorer.db import session as db_session
from scorer.settings import Settings
from tests.api.conftest import Service
from worker.runtime import startup


def make_worker(*queues: str) -> SimpleNamespace:
    """Celery's message when a worker of these queues starts."""
    return SimpleNamespace(app=SimpleNamespace(amqp=SimpleNamespace(queues=SimpleNamespace(consume_from=queues))))


@pytest.mark.parametrize(("ahead", "text"), [(62, "62 s ahead of that of the database"), (-62, "62 s behind that")])
def test_a_wrong_clock_stops_a_worker(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, ahead: int, text: str
) -> None:
    monkeypatch.setattr(startup, "read_settings", lambda: settings)
    startup.refuse_to_start(make_worker("check"))
    monkeypatch.setattr(startup, "utc_now", lambda: datetime.now(UTC) + timedelta(seconds=ahead))
    with pytest.raises(SystemExit, match=text):
        startup.refuse_to_start(make_worker("check"))


def test_an_unwritable_scratch_folder_stops_a_worker(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    wrong = settings.model_copy(update={"scratch": tmp_path / "file" / "scratch"})
    monkeypatch.setattr(startup, "read_settings", lambda: wrong)
    startup.refuse_to_start(make_worker("sweep"))
    with pytest.raises(SystemExit, match=r"cannot write to the folder .*Set KENNEL_SCRATCH"):
        startup.refuse_to_start(make_worker("check"))


def test_a_queue_server_in_cluster_mode_stops_a_worker(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(startup, "read_settings", lambda: settings)
    monkeypatch.setattr(Redis, "info", lambda *_: {"cluster_enabled": 1})
    with pytest.raises(SystemExit, match="in cluster mode"):
        startup.refuse_to_start(make_worker("check"))


def test_a_web_process_with_a_wrong_clock_is_not_ready(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = service.call(None, "GET", "/ready")
    assert (answer.status_code, answer.json()["clock"]) == (200, "ok")
    monkeypatch.setattr(db_session, "MAX_SKEW", timedelta())
    service.app.state.readiness = build_readiness(service.app.state)
    answer = service.call(None, "GET", "/ready")
    assert answer.status_code == 503
    assert answer.json()["clock"].startswith("The clock of this machine is ")


def test_a_used_metrics_port_is_reported_in_one_sentence(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Two workers of one machine with the same settings both work."""
    with socket.create_server(("", 0)) as taken:
        port = taken.getsockname()[1]
        monkeypatch.setattr(startup, "read_settings", lambda: settings.model_copy(update={"metrics_port": port}))
        with caplog.at_level(logging.ERROR):
            startup.offer_metrics(make_worker("check"))
    (record,) = caplog.records
    assert record.getMessage() == f"this worker serves no metrics: KENNEL_METRICS_PORT={port}: Address already in use"
    assert record.exc_info is None
