"""Liveness, readiness and metrics of a working service, including the metrics of KEDA's triggers."""

import os
import re
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from prometheus_client.parser import text_string_to_metric_families
from pydantic import SecretStr
from redis import Redis
from sqlalchemy import make_url
from sqlalchemy.exc import OperationalError

import migrations
from api.health.routes import build_readiness
from api.http.problem_details import RETRY_SECONDS
from api.main import create_app
from scorer.errors import Invalid
from scorer.jobs.queue_metrics import TimedValue
from scorer.lifecycle import Queue
from tests.api.conftest import API, Service
from tests.factories import make_zip, noise_images
from tests.http_server import serve
from tests.kubernetes.manifests import EXAMPLE, SCALED, find_triggers
from worker import dispatch
from worker.maintenance.sweeper import sweep_once

TOKEN = "a token of the operator"
Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


def bearing(service: Service, token: str = TOKEN) -> Any:
    """Request ``/metrics`` with a token."""
    return service.http.get("/metrics", headers={"Authorization": f"Bearer {token}"})


def parse_samples(text: str) -> Samples:
    """Return the samples of an exposition by name and labels."""
    families = text_string_to_metric_families(text)
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in families
        for sample in family.samples
    }


def changes(before: Samples, after: Samples, name: str, **labels: str) -> float:
    """Return the growth of a sample."""
    key = (name, frozenset(labels.items()))
    return after.get(key, 0) - before.get(key, 0)


@pytest.fixture
def metrics(service: Service) -> Any:
    """Reads the metrics like Prometheus, without the cache for queues."""
    state: Any = service.app.state
    state.settings = state.settings.model_copy(update={"metrics_token": SecretStr(TOKEN)})
    state.queue_metrics._load = TimedValue(state.queue_metrics._read, 0)
    return lambda: parse_samples(bearing(service).text)


def test_a_working_process_is_live_and_ready(service: Service) -> None:
    assert service.http.get("/healthz").json() == {"status": "ok"}
    answer = service.http.get("/readyz")
    assert answer.json() == dict.fromkeys(("database", "clock", "migrations", "broker", "blobs"), "ok")
    assert answer.status_code == 200


def test_readiness_names_the_fault(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    state: Any = service.app.state

    def broken() -> None:
        raise OSError("the store is absent")

    monkeypatch.setattr(state.blobs, "require_usable", broken)
    state.readiness = build_readiness(state)
    answer = service.http.get("/readyz")
    assert (answer.status_code, answer.json()["blobs"], answer.json()["database"]) == (503, "OSError", "ok")
    assert service.http.get("/healthz").status_code == 200


@contextmanager
def silent_server() -> Iterator[tuple[socket.socket, str]]:
    """A server that accepts connections and never responds, and its address."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as server:
        yield server, f"127.0.0.1:{server.getsockname()[1]}"


def another_app(service: Service, **changes: Any) -> FastAPI:
    """Create another application with other settings."""
    return create_app(service.app.state.settings.model_copy(update=changes))


def test_readiness_responds_while_redis_and_postgresql_are_silent(service: Service) -> None:
    with silent_server() as (_, address):
        addresses = {
            "redis_url": SecretStr(f"redis://{address}/0"),
            "database_url": SecretStr(f"postgresql+psycopg2://kennel@{address}/kennel"),
        }
        http = TestClient(another_app(service, readiness_seconds=0.5, **addresses))
        for path in ("/readyz", f"{API}/ready"):
            answer = http.get(path)
            silent = dict.fromkeys(("database", "clock", "migrations", "broker"), "NoAnswer")
            assert (answer.status_code, answer.json()) == (503, silent | {"blobs": "ok"})
        threads = [thread for thread in threading.enumerate() if thread.name == "readiness"]
        assert len(threads) == len(silent), "silent servers are not queried again"


def test_probes_of_a_silent_redis_leave_threads_for_visitors(service: Service) -> None:
    with silent_server() as (redis, address), ThreadPoolExecutor(60) as probes:
        app = another_app(service, readiness_seconds=60, redis_url=SecretStr(f"redis://{address}/0"))
        with serve(app) as url:
            answers = [probes.submit(httpx.get, f"{url}/readyz", timeout=120) for _ in range(60)]
            connection, _ = redis.accept()
            assert all(httpx.get(f"{url}/static/base.css", timeout=60).status_code == 200 for _ in range(5))
            assert not any(answer.done() for answer in answers)
            redis.close()
            connection.close()
            assert {answer.result().status_code for answer in answers} == {503}


def test_a_read_only_database_is_503_and_named(service: Service) -> None:
    url = make_url(service.app.state.settings.database_url.get_secret_value())
    read_only = url.update_query_dict({"options": "-c default_transaction_read_only=on"})
    app = another_app(service, database_url=SecretStr(read_only.render_as_string(hide_password=False)))
    with TestClient(app) as http:
        answer = http.get("/readyz")
        assert (answer.status_code, answer.json()["database"]) == (503, "ReadOnlyServer")
        assert http.get(f"{API}/competitions").status_code == 200, "requests that only read succeed"
        person = {"handle": "zoe", "email": "zoe@example.org", "password": "a long password of zoe"}
        written = http.post(f"{API}/accounts", json=person)
        assert (written.status_code, written.headers.get("Retry-After")) == (503, str(RETRY_SECONDS)), written.text


def test_a_queue_server_that_refuses_writes_is_named(service: Service) -> None:
    state: Any = service.app.state
    state.readiness = build_readiness(state)
    with Redis.from_url(state.settings.redis_url.get_secret_value()) as redis:
        redis.config_set("min-replicas-to-write", 1)
        try:
            answer = service.http.get("/readyz")
        finally:
            redis.config_set("min-replicas-to-write", 0)
    assert answer.status_code == 503
    assert {name: outcome for name, outcome in answer.json().items() if outcome != "ok"} == {"broker": "ResponseError"}


@pytest.mark.parametrize(
    ("revision", "status", "outcome"),
    [
        ("9999", 200, "^ok$"),
        (None, 503, "run `kennel migrate`"),
        ("0051", 503, r"made by a development version .* \(migration 0051\)"),
    ],
)
def test_later_tables_are_ready_and_earlier_ones_are_not(
    service: Service, monkeypatch: pytest.MonkeyPatch, revision: str | None, status: int, outcome: str
) -> None:
    """During the rollout of a new version, processes of the previous version still run."""
    monkeypatch.setattr(migrations, "current_revision", lambda _: revision)
    state: Any = service.app.state
    state.readiness = build_readiness(state)
    answer = service.http.get("/readyz")
    assert answer.status_code == status
    assert re.search(outcome, answer.json()["migrations"])


def test_metrics_need_the_operators_token(service: Service, metrics: Any) -> None:
    assert bearing(service, "another").status_code == 401
    assert service.http.get("/metrics").status_code == 401
    assert bearing(service).status_code == 200
    state: Any = service.app.state
    state.settings = state.settings.model_copy(update={"metrics_token": None})
    assert bearing(service).status_code == 404


def test_metrics_follow_an_entry_from_upload_to_score(service: Service, metrics: Any) -> None:
    slug = service.competition()
    before = metrics()
    images = noise_images(9)
    assert service.submit("ada", slug, make_zip(images)).status_code == 202
    waiting = metrics()
    assert changes(before, waiting, "kennel_uploads_total") == 1
    assert changes(before, waiting, "kennel_upload_bytes_total") == len(make_zip(images))
    assert changes(before, waiting, "kennel_queue_jobs", queue="check", state="due") == 1
    assert waiting["kennel_queue_oldest_due_seconds", frozenset({("queue", "check")})] > 0
    service.run_jobs()
    sweep_once(service.context)
    after = metrics()
    for queue in ("check", "score"):
        assert changes(before, after, "kennel_jobs_total", queue=queue, outcome="done") >= 1
    for stage in ("features", "neighbours"):
        name = "kennel_job_stage_duration_seconds_count"
        assert changes(before, after, name, queue="score", stage=stage) >= 1
    assert changes(before, after, "kennel_forward_pass_seconds_total", device="cpu") > 0
    assert after["kennel_scoring_workers", frozenset({("device", "cpu"), ("worker", str(os.getppid()))})] == 1
    assert after["kennel_last_sweep_timestamp_seconds", frozenset()] > 0
    assert after["kennel_database_up", frozenset()] == 1


def test_a_failure_is_counted_by_its_reason(
    service: Service, metrics: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    slug = service.competition()
    before = metrics()

    def refuse(*_: object) -> None:
        raise Invalid("odd-zip", "This zip is odd.")

    monkeypatch.setitem(dispatch.JOB_FUNCTIONS, Queue.CHECK, refuse)
    made = service.submit("ada", slug, make_zip(noise_images(9)))
    caplog.set_level("INFO")
    dispatch.run_next(service.context, Queue.CHECK)
    after = metrics()
    assert changes(before, after, "kennel_job_failures_total", queue="check", reason="odd-zip") == 1
    assert changes(before, after, "kennel_jobs_total", queue="check", outcome="failed") == 1
    assert made.status_code == 202
    failed = [record for record in caplog.records if "failed" in record.getMessage()]
    assert [record.exc_info for record in failed] == [None]


def test_metrics_work_without_the_database(service: Service, metrics: Any) -> None:
    state: Any = service.app.state

    def away() -> None:
        raise OperationalError("SELECT", {}, OSError("away"))

    state.queue_metrics._load = TimedValue(away, 0)
    after = metrics()
    assert after["kennel_database_up", frozenset()] == 0
    assert not [name for name, _ in after if name.startswith("kennel_queue")]


AGE, JOBS = "kennel_queue_oldest_due_seconds", "kennel_queue_jobs"


def read_values(name: str, samples: Any) -> dict[tuple[str, str], float]:
    """Return the values of each trigger of a worker, by metric and queue."""
    return {
        (metric, labels["queue"]): samples[metric, frozenset(labels.items())]
        for metric, labels, _ in find_triggers(EXAMPLE, name)
    }


def test_an_empty_queue_needs_no_pod(service: Service, metrics: Any) -> None:
    for name in SCALED:
        assert set(read_values(name, metrics()).values()) == {0.0}


def test_a_waiting_job_starts_a_pod(service: Service, metrics: Any) -> None:
    slug = service.competition()
    assert service.submit("ada", slug, make_zip(noise_images(9))).status_code == 202
    values = read_values("worker-check", metrics())
    assert values[AGE, "check"] > 0
    assert values[JOBS, "check"] == 0
    assert read_values("worker-gpu", metrics())[AGE, "score"] == 0
