"""A worker that receives no message any more ends, so that it is started anew."""

import multiprocessing
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from scorer.jobs.broker import WORK
from tests.api.conftest import Service
from tests.conftest import addresses
from worker.runtime import consumption
from worker.runtime.consumption import CHECKS, ConsumptionWatch

PATIENCE = 120.0


def test_only_a_worker_that_is_idle_while_messages_wait_is_stuck() -> None:
    for change in ({"received": 1}, {"idle": False}, {"waiting": False}, {}):
        seen = {"received": 0, "idle": True, "waiting": True}
        watch = _watch(seen)
        assert not any(watch.is_stuck() for _ in range(CHECKS))
        seen |= change
        assert watch.is_stuck() is (not change)


def _watch(seen: Mapping[str, int]) -> ConsumptionWatch:
    return ConsumptionWatch(lambda: seen["received"], lambda: bool(seen["idle"]), lambda: bool(seen["waiting"]))


def test_a_worker_is_idle_when_none_of_its_processes_runs_a_task() -> None:
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
    process.kill()  # which does not end the task in an orderly way
    process.join(PATIENCE)
    assert consumption.no_task_runs()


@pytest.mark.heavy
def test_a_worker_that_no_longer_receives_ends(service: Service, tmp_path: Path) -> None:
    settings = service.context.settings
    environment = {
        **os.environ,
        **addresses(settings),
        "KENNEL_SWEEP_SECONDS": "1",
    }
    command = (sys.executable, "-m", "celery", "-A", "worker.app", "worker", "-Q", "check", "--concurrency", "1")
    with (tmp_path / "log").open("wb") as log, subprocess.Popen(command, env=environment, stderr=log) as worker:
        try:
            app = service.context.broker
            deadline = time.monotonic() + PATIENCE
            while not app.control.cancel_consumer("check", reply=True):
                assert time.monotonic() < deadline
            app.send_task(WORK, args=["check"], queue="check")
            assert worker.wait(PATIENCE) == 0
        finally:
            worker.kill()
    assert "it ends" in (tmp_path / "log").read_text()
