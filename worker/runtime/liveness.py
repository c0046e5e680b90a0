"""The liveness of workers and beat: a file that is touched while they do their work, for checks of their health.

A worker touches it with each of Celery's heartbeats, from the process that receives messages, so also while a job runs;
beat with each message that it sends. A process that hangs, or has lost the broker, touches nothing.
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
    """Touch the file that the settings name, if they name one."""
    if (file := _file()) is not None:
        file.touch()


@beat_init.connect
def touch_when_sending(**_: Any) -> None:
    """Let beat touch the file when it sends a message. In workers the processes of jobs send some, too, which says
    nothing of the one that receives."""
    after_task_publish.connect(touch)
