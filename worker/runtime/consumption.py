"""The watch on consumption: ends a worker that is idle while messages wait on its queues.

Fault injection found two such workers: after their queue server was killed, the process that receives messages was
stuck for minutes, and did not notice the end of a task. The worker's supervisor restarts it; no job is lost, because
none runs.
"""

import fcntl
import logging
import os
import signal
import threading
import time
from collections.abc import Callable
from typing import Any

from celery import Celery
from celery.signals import task_postrun, task_prerun, worker_ready
from celery.worker import state

from scorer.jobs.broker import queue_lengths
from scorer.settings import read_settings
from worker.runtime.process_locks import is_locked, shared_file

log = logging.getLogger(__name__)
CHECKS = 4
"""The worker ends after this many checks in a row that find it idle, without a new message, while messages wait."""
END_SECONDS = 30.0
"""A process that has not ended this long after the request is killed."""
_file = shared_file()
_TASK = 0
"""The byte that each process of this worker locks while it runs a task."""


@task_prerun.connect
def begin_task(**_: object) -> None:
    """Let the process that receives messages see that this process runs a task."""
    fcntl.lockf(_file, fcntl.LOCK_SH, 1, _TASK)


@task_postrun.connect
def end_task(**_: object) -> None:
    """Let the process that receives messages see that the task has ended."""
    fcntl.lockf(_file, fcntl.LOCK_UN, 1, _TASK)


def no_task_runs() -> bool:
    """Whether no process of this worker runs a task, according to their locks: Celery's own state may be stuck."""
    return not is_locked(_file, _TASK)


class ConsumptionWatch:
    """Counts the checks in a row that found a worker idle while messages waited.

    ``received``: how many messages the worker has received; ``is_idle``: whether it runs no task; ``are_waiting``:
    whether messages wait on its queues.
    """

    def __init__(
        self, received: Callable[[], int], is_idle: Callable[[], bool], are_waiting: Callable[[], bool]
    ) -> None:
        self._received = received
        self._is_idle = is_idle
        self._are_waiting = are_waiting
        self._before = -1
        self._checks = 0

    def is_stuck(self) -> bool:
        """Check once; returns whether the worker has stopped receiving messages."""
        received = self._received()
        is_suspect = received == self._before and self._is_idle() and self._are_waiting()
        self._before = received
        self._checks = self._checks + 1 if is_suspect else 0
        return self._checks >= CHECKS


@worker_ready.connect
def start_watching(sender: Any, **_: object) -> None:
    """Watch this worker from now on: check each time that a sweep sends missing messages."""
    app: Celery = sender.app
    names = list(app.amqp.queues.consume_from)
    watch = ConsumptionWatch(
        received=lambda: sum(state.total_count.values()),
        is_idle=no_task_runs,
        are_waiting=lambda: _are_waiting(app, names),
    )
    arguments = (watch, read_settings().sweep_seconds)
    threading.Thread(target=_watch, args=arguments, name="consumption", daemon=True).start()


def _are_waiting(app: Celery, names: list[str]) -> bool:
    try:
        return any(queue_lengths(app, names).values())
    except Exception as error:  # noqa: BLE001 - whatever it is: without an answer nothing is known
        log.warning("the queues could not be checked: %s", error)
        return False


def _watch(watch: ConsumptionWatch, seconds: float) -> None:
    while not watch.is_stuck():
        time.sleep(seconds)
    _end()


def _end() -> None:
    log.error("this worker has received no message for %d checks, while messages wait on its queues: it ends", CHECKS)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(END_SECONDS)
    os.kill(os.getpid(), signal.SIGKILL)
