"""A worker that no longer receives messages ends, and its supervisor restarts it."""

import multiprocessing
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from redis import Redis

import migrations
from scorer.db.jobs import worker_reports
from scorer.db.tables import WorkerReport
from scorer.extractor_catalogue import EXTRACTORS
from scorer.jobs.broker import RUN_JOB
from scorer.product_version import product_version
from tests.api.conftest import Service
from tests.conftest import addresses
from worker.runtime import consumption
from worker.runtime.consumption import CHECKS, ConsumptionWatch

PATIENCE = 120.0
DEAF_WORKER = """
import sys
from celery.signals import worker_ready

@worker_ready.connect(weak=False)
def stop_receiving(sender, **_):
    sender.task_consumer.cancel_by_queue("check")

from celery.__main__ import main
sys.exit(main())
"""


def test_only_an_idle_worker_with_waiting_messages_is_stuck() -> None:
    for change in ({"received": 1}, {"idle": False}, {"waiting": False}, {}):
        seen = {"received": 0, "idle": True, "waiting": True}
        watch = _watch(seen)
        assert not any(watch.is_stuck() for _ in range(CHECKS))
        seen |= change
        assert watch.is_stuck() is (not change)


def _watch(seen: Mapping[str, int]) -> ConsumptionWatch:
    return ConsumptionWatch(lambda: seen["received"], lambda: bool(seen["idle"]), lambda: bool(seen["waiting"]))


def test_a_worker_is_idle_if_no_process_runs_a_task() -> None:
    fork = multiprocessing.get_context("fork")
    begun, may_end = fork.Event(), fork.Event()

    def run() -> None:
        consumption.begin_task()
        begun.set()
        may_end.wait(PATIENCE)
        consumption.end_task()

    process = fork.Process(target=run)
    assert consumption.no_task_runs()
    process.start()
    assert begun.wait(PATIENCE)
    assert not consumption.no_task_runs()
    process.kill()  # so the task does not end normally
    process.join(PATIENCE)
    assert consumption.no_task_runs()


def test_a_worker_reports_ignores_remote_control_and_ends_when_cut_off(service: Service, tmp_path: Path) -> None:
    settings = service.context.settings
    environment = {
        **os.environ,
        **addresses(settings),
        "KENNEL_SWEEP_SECONDS": "1",
    }
    name = f"deaf@{tmp_path.name}"
    celery = ("-A", "worker.app", "worker", "-Q", "check", "--concurrency", "1", "-n", name)
    command = (sys.executable, "-c", DEAF_WORKER, *celery)
    with (tmp_path / "log").open("wb") as log, subprocess.Popen(command, env=environment, stderr=log) as worker:
        try:
            deadline = time.monotonic() + PATIENCE
            while not (reports := _load_reports(name, service)):
                assert time.monotonic() < deadline
                time.sleep(0.1)
            assert service.context.broker.control.ping(timeout=1) == []
            service.context.broker.send_task(RUN_JOB, args=["check"], queue="check")
            assert worker.wait(PATIENCE) == 0
        finally:
            worker.kill()
    (report,) = reports
    assert (report.version, report.migration) == (product_version(), migrations.newest_revision())
    assert report.queues == ["check"]
    assert report.extractors["tiny@1"] == EXTRACTORS["tiny"].weights_sha256
    assert _load_reports(name, service) == []
    assert "it ends" in (tmp_path / "log").read_text()


def test_a_worker_waits_while_its_queue_server_accepts_no_writes(service: Service, tmp_path: Path) -> None:
    settings = service.context.settings
    celery = ("-m", "celery", "-A", "worker.app", "worker", "-Q", "check", "--concurrency", "1")
    command = (sys.executable, *celery, "-n", f"waiting@{tmp_path.name}")
    environment = {**os.environ, **addresses(settings)}
    written = tmp_path / "log"
    with (
        written.open("wb") as log,
        Redis.from_url(settings.redis_url.get_secret_value()) as client,
        subprocess.Popen(command, env=environment, stdout=log, stderr=log) as worker,
    ):

        def wait_until(condition: Callable[[], bool]) -> None:
            deadline = time.monotonic() + PATIENCE
            while not condition():
                assert time.monotonic() < deadline, written.read_text()
                assert worker.poll() is None, written.read_text()
                time.sleep(0.05)

        try:
            wait_until(lambda: "is ready" in written.read_text())
            client.config_set("min-replicas-to-write", 1)
            wait_until(lambda: "NOREPLICAS" in written.read_text())
            client.config_set("min-replicas-to-write", 0)
            service.context.broker.send_task(RUN_JOB, args=["check"], queue="check")
            wait_until(lambda: not client.exists("check", "unacked"))
        finally:
            client.config_set("min-replicas-to-write", 0)
            worker.kill()


def _load_reports(name: str, service: Service) -> list[WorkerReport]:
    with service.context.sessions() as session:
        return [report for report in worker_reports.recent_reports(session) if report.worker == name]
