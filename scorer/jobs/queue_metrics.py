"""The load of the queues as Prometheus metrics, read from the database for each request."""

import logging
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from threading import Lock
from typing import Generic, TypeVar

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from scorer.db.jobs import failed_jobs
from scorer.db.jobs.failed_jobs import QueueLoad
from scorer.db.session import UNAVAILABLE, Sessions
from scorer.lifecycle import Queue

T = TypeVar("T")


class TimedValue(Generic[T]):
    """The result of ``read``, at most ``seconds`` old. Simultaneous threads share one reading.

    ``clock`` is monotonic, in seconds.
    """

    def __init__(self, read: Callable[[], T], seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._read = read
        self._seconds = seconds
        self._clock = clock
        self._lock = Lock()
        self._cached: tuple[float, T] | None = None

    def get(self) -> T:
        """Return the value. After an error of ``read``, which propagates, no value is kept."""
        with self._lock:
            if self._cached is None or self._clock() - self._cached[0] >= self._seconds:
                self._cached = None
                value = self._read()
                # The time after the reading, which may take longer than the limit.
                self._cached = self._clock(), value
            return self._cached[1]


CACHED_SECONDS = 5.0
METRICS = {
    "kennel_database_up": (),
    "kennel_queue_jobs": ("queue", "state"),
    "kennel_queue_oldest_due_seconds": ("queue",),
}
"""The labels of the metrics, by name."""
EMPTY = {"waiting": 0, "due": 0, "running": 0, "lost": 0}

log = logging.getLogger(__name__)


class QueueMetrics(Collector):
    """The jobs of every queue by state, the wait of the oldest due job, and whether the database answers.

    One query reads all of them, at most every ``CACHED_SECONDS``.
    """

    def __init__(self, sessions: Sessions, seconds: float = CACHED_SECONDS) -> None:
        self._sessions = sessions
        self._load = TimedValue(self._read, seconds)

    def collect(self) -> Iterator[Metric]:
        """Return the metric families. Without the database, the queues' metrics are missing."""
        up = GaugeMetricFamily("kennel_database_up", "1 if the database has returned the load of the queues, else 0.")
        try:
            loads, now = self._load.get()
        except UNAVAILABLE as error:
            log.warning("reading the load of the queues failed: %s", str(error).partition("\n")[0])
            up.add_metric([], 0)
            yield up
            return
        up.add_metric([], 1)
        yield up
        yield from _families(loads, now)

    def _read(self) -> tuple[dict[str, QueueLoad], datetime]:
        with self._sessions() as session:
            return {load.queue: load for load in failed_jobs.queues(session)}, failed_jobs.database_time(session)


def _families(loads: dict[str, QueueLoad], now: datetime) -> Iterator[Metric]:
    jobs = GaugeMetricFamily(
        "kennel_queue_jobs",
        "Unfinished jobs by queue and state: waiting, due (part of waiting), running, lost (part of running).",
        labels=METRICS["kennel_queue_jobs"],
    )
    ages = GaugeMetricFamily(
        "kennel_queue_oldest_due_seconds",
        "Seconds that the oldest due job of a queue has waited; 0 if none is due.",
        labels=METRICS["kennel_queue_oldest_due_seconds"],
    )
    for queue in Queue:
        load = loads.get(queue.value)
        for state, none in EMPTY.items():
            jobs.add_metric([queue.value, state], getattr(load, state, none))
        since = load.oldest_due_at if load is not None else None
        ages.add_metric([queue.value], (now - since).total_seconds() if since is not None else 0)
    yield jobs
    yield ages
