"""The Prometheus metrics that a process counts itself. :mod:`scorer.jobs.queue_metrics` has those of the queues.

The processes of one machine add up if ``PROMETHEUS_MULTIPROC_DIR``, prometheus-client's variable, names their folder.
"""

import logging
import os
from contextlib import suppress
from pathlib import Path

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, values
from prometheus_client.mmap_dict import _INITIAL_MMAP_SIZE, MmapedDict

log = logging.getLogger(__name__)
ENTRY_BYTES = 64
"""An upper bound of an entry's size in addition to its key."""


class MetricsFile(MmapedDict):
    """A file of prometheus-client that does not kill its process when the disk is full.

    Writing to a mapped file without disk space raises SIGBUS. With a full disk, the metrics stay in memory, where no
    other process can read them.
    """

    def __init__(self, filename: str, read_mode: bool = False) -> None:
        if read_mode or _has_room(filename, _INITIAL_MMAP_SIZE):
            super().__init__(filename, read_mode)  # type: ignore[no-untyped-call]
            return
        with suppress(OSError):
            Path(filename).unlink()  # readers would take an empty file for a damaged one
        memory = os.memfd_create("metrics")
        try:
            super().__init__(_descriptor_path(memory))  # type: ignore[no-untyped-call]
        finally:
            os.close(memory)

    def _init_value(self, key: str) -> None:
        if self._used + len(key.encode()) + ENTRY_BYTES > self._capacity and not _has_room(
            _descriptor_path(self._f.fileno()), 2 * self._capacity
        ):
            memory = os.fdopen(os.memfd_create("metrics"), "a+b")
            memory.write(self._m[:])
            memory.flush()
            self._f.close()
            self._f = memory  # the base class maps it
        super()._init_value(key)  # type: ignore[no-untyped-call]


def _descriptor_path(descriptor: int) -> str:
    return f"/proc/self/fd/{descriptor}"


def _has_room(filename: str, size: int) -> bool:
    """Reserve the first ``size`` bytes of a file; return whether the disk has enough space."""
    try:
        with Path(filename).open("ab") as file:
            os.posix_fallocate(file.fileno(), 0, max(size, os.fstat(file.fileno()).st_size))
    except OSError as error:
        log.warning("the metrics of this process stay in memory until it ends: %s", error.strerror)
        return False
    return True


values.MmapedDict = MetricsFile  # type: ignore[attr-defined]
REGISTRY = CollectorRegistry()
STAGE_BUCKETS = (0.1, 0.5, 1, 2, 5, 15, 30, 60, 120, 300, 600, 1800, 3600, 7200)
REQUEST_BUCKETS = (0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)

HTTP_REQUESTS = Counter(
    "kennel_http_requests_total",
    "Requests, by method, route and status.",
    ("method", "route", "status"),
    registry=REGISTRY,
)
HTTP_REQUEST_SECONDS = Histogram(
    "kennel_http_request_duration_seconds",
    "Seconds from a request's head to the end of its response, by route.",
    ("route",),
    buckets=REQUEST_BUCKETS,
    registry=REGISTRY,
)
UPLOADS = Counter("kennel_uploads_total", "Zips accepted as submissions.", registry=REGISTRY)
UPLOAD_BYTES = Counter("kennel_upload_bytes_total", "Bytes of the accepted zips.", registry=REGISTRY)
JOBS = Counter(
    "kennel_jobs_total",
    "Jobs that a worker has ended, by queue and outcome: done, failed, released (runs again later) or lost.",
    ("queue", "outcome"),
    registry=REGISTRY,
)
JOB_FAILURES = Counter(
    "kennel_job_failures_total",
    "Failed attempts at jobs, by queue and reason: the error's slug or class.",
    ("queue", "reason"),
    registry=REGISTRY,
)
STAGE_SECONDS = Histogram(
    "kennel_job_stage_duration_seconds",
    "Seconds of jobs in a stage, by queue and stage.",
    ("queue", "stage"),
    buckets=STAGE_BUCKETS,
    registry=REGISTRY,
)
FORWARD_SECONDS = Counter(
    "kennel_forward_pass_seconds_total",
    "Seconds with at least one batch in a network, by device, over all processes.",
    ("device",),
    registry=REGISTRY,
)
SCORING_WORKERS = Gauge(
    "kennel_scoring_workers",
    "Workers that have loaded a network, by device; the processes of a worker take turns on its device. "
    "1 - rate(forward pass seconds) / workers is the idle share.",
    ("device", "worker"),
    multiprocess_mode="livemax",
    registry=REGISTRY,
)
MAILS = Counter("kennel_mails_total", "Mails, by outcome: sent, refused or unknown.", ("outcome",), registry=REGISTRY)
WEBHOOK_DELIVERIES = Counter(
    "kennel_webhook_deliveries_total",
    "Attempts to send a notice to a webhook, by outcome: arrived or failed.",
    ("outcome",),
    registry=REGISTRY,
)
LAST_SWEEP = Gauge(
    "kennel_last_sweep_timestamp_seconds",
    "The end of the last sweep, in seconds since 1970.",
    multiprocess_mode="max",
    registry=REGISTRY,
)
