"""The liveness of workers and beat: a file that they touch while they work, for health checks.

In a worker, the process that receives messages touches it with each of Celery's heartbeats, even while a job runs; beat
touches it with each message. A process that hangs, or has lost the broker, does not touch it.
"""

from functools import cache
from pathlib import Path
from typing import Any

from celery.signals import after_task_publish, beat_init, heartbeat_sent

from scorer.settings import read_settings


@cache
def _file() -> Path | None:
    return read_settings().liveness_path


@heartbeat_sent.connect
def touch(**_: Any) -> None:
    """Touch the file from the settings, if there is one."""
    if (file := _file()) is not None:
        file.touch()


@beat_init.connect
def touch_when_sending(**_: Any) -> None:
    """Touch the file when beat sends a message. Not in workers: their job processes also send messages, which says
    nothing about the process that receives them.
    """
    after_task_publish.connect(touch)
