"""What beat sends is done by the tasks of workers: nothing that is to be removed waits for somebody to think of it."""

import os
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from celery import Celery
from celery.beat import PersistentScheduler

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
def test_periodic_work_is_done_but_a_wrong_clock_removes_nothing(tmp_path: Path, clock: str, left: set[str]) -> None:
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
def test_a_clock_that_is_set_back_stops_no_periodic_task(
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
