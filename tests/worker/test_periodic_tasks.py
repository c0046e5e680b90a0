"""What beat sends is done by the tasks of workers: nothing that is to be removed waits for somebody to think of it."""

import os
import subprocess
import sys
from pathlib import Path

SCRIPT = """
from worker import tasks

done = []
for name in (
    "clean_up_uploads", "post_due_deliveries", "remove_expired_rows", "remove_old_zips", "remove_orphaned_blobs",
    "remove_refused_zips", "send_due_mails", "sweep_once",
):
    assert callable(getattr(tasks, name))
    setattr(tasks, name, lambda _, name=name: done.append(name))
tasks.worker_context = lambda: None
for entry in tasks.app.conf.beat_schedule.values():
    tasks.app.tasks[entry["task"]]()
print(*sorted(done))
"""


def test_whatever_is_periodic_is_sent_and_done(tmp_path: Path) -> None:
    addresses = {
        "DATABASE_URL": "postgresql://x@127.0.0.1:1/x",
        "REDIS_URL": "redis://127.0.0.1:1/0",
        "BLOB_URL": tmp_path.as_uri(),
    }
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], env=os.environ | addresses, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == [
        "clean_up_uploads",
        "post_due_deliveries",
        "remove_expired_rows",
        "remove_old_zips",
        "remove_orphaned_blobs",
        "remove_refused_zips",
        "send_due_mails",
        "sweep_once",
    ]
