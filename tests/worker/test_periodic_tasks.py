"""Workers run beat's tasks, and a worker renews its report as long as it has a heartbeat."""

import logging
import os
import subprocess
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from celery import Celery
from celery.beat import PersistentScheduler

from worker.runtime import worker_report
from worker.runtime.beat_scheduler import Scheduler

SCRIPT = """
import sys
from types import SimpleNamespace

from scorer.errors import Unavailable
from worker import tasks

done = []

def require_right_clock(*_):
    if sys.argv[1] == "wrong":
        raise Unavailable("wrong-clock", "It is days ahead.")

for name in (
    "clean_up_uploads", "post_due_deliveries", "remove_expired_rows", "remove_old_zips", "remove_orphaned_blobs",
    "remove_refused_zips", "send_due_mails", "sweep_once",
):
    assert callable(getattr(tasks, name))
    setattr(tasks, name, lambda _, name=name: done.append(name))
tasks.require_right_clock = require_right_clock
tasks.worker_context = lambda: SimpleNamespace(sessions=None, now=None)
for entry in tasks.app.conf.beat_schedule.values():
    tasks.app.tasks[entry["task"]]()
print(*sorted(done))
"""


REMOVING = {
    "clean_up_uploads",
    "remove_expired_rows",
    "remove_old_zips",
    "remove_orphaned_blobs",
    "remove_refused_zips",
}


@pytest.mark.parametrize(("clock", "left"), [("right", set()), ("wrong", REMOVING)])
def test_periodic_tasks_run_but_a_wrong_clock_removes_nothing(tmp_path: Path, clock: str, left: set[str]) -> None:
    addresses = {
        "DATABASE_URL": "postgresql://x@127.0.0.1:1/x",
        "REDIS_URL": "redis://127.0.0.1:1/0",
        "BLOB_URL": tmp_path.as_uri(),
    }
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, clock], env=os.environ | addresses, capture_output=True, text=True, check=True
    )
    all_done = {*REMOVING, "post_due_deliveries", "send_due_mails", "sweep_once"}
    assert done.stdout.split() == sorted(all_done - left)


@pytest.mark.parametrize(("kind", "sent"), [(Scheduler, {"one", "two"}), (PersistentScheduler, set())])
def test_a_clock_set_back_stops_no_periodic_task(
    kind: type[PersistentScheduler], sent: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = Celery(broker="memory://", set_as_current=False)
    app.conf.beat_schedule = {name: {"task": name, "schedule": 0.0} for name in ("one", "two")}
    scheduler = kind(app, schedule_filename=str(tmp_path / "schedule"), lazy=True)
    scheduler.setup_schedule()
    tasks: set[str] = set()
    monkeypatch.setattr(scheduler, "apply_async", lambda entry, **_: tasks.add(entry.task))
    for entry in scheduler.schedule.values():
        entry.last_run_at = entry.default_now() + timedelta(hours=1)
    scheduler.populate_heap()
    for _ in range(10):
        scheduler.tick()
    scheduler.close()
    assert tasks & {"one", "two"} == sent


class Rounds:
    """An event that is set after this many waits. Every wait calls a function first."""

    def __init__(self, *meanwhile: Callable[[], object]) -> None:
        self.meanwhile = list(meanwhile)

    def is_set(self) -> bool:
        return not self.meanwhile

    def wait(self, _: float) -> None:
        self.meanwhile.pop(0)()


@pytest.fixture
def acts(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The changes of the report, in order."""
    done: list[str] = []
    monkeypatch.setattr(worker_report, "write_report", lambda *_: done.append("written"))
    monkeypatch.setattr(worker_report, "remove_report", lambda *_: done.append("removed"))
    worker_report.note_heartbeat()
    return done


def report(monkeypatch: pytest.MonkeyPatch, *meanwhile: Callable[[], object]) -> None:
    """Report until all rounds end."""
    monkeypatch.setattr(worker_report, "_ended", Rounds(*meanwhile))
    settings: Any = None
    worker_report._report(settings, "check@host", ["check"])


def test_a_worker_without_a_heartbeat_does_not_report(acts: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    beat, nothing = worker_report.note_heartbeat, acts.copy
    report(monkeypatch, nothing, nothing, beat, nothing)
    assert acts == ["written", "written", "removed"]


def test_a_report_that_cannot_be_written_is_retried(
    acts: list[str], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> None:
        monkeypatch.setattr(worker_report, "write_report", lambda *_: acts.append("written"))
        raise ConnectionError("no route to host")

    monkeypatch.setattr(worker_report, "write_report", fail)
    with caplog.at_level(logging.WARNING):
        report(monkeypatch, worker_report.note_heartbeat, acts.copy)
    assert acts == ["written", "removed"]
    assert "no route to host" in caplog.text
