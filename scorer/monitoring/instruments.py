"""Every Prometheus metric that a process counts by itself. Those of the queues are read from the database when asked
(:mod:`scorer.jobs.queue_metrics`).

Several processes of one machine add up where ``PROMETHEUS_MULTIPROC_DIR``, prometheus-client's own variable, names a
folder that they share.
"""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, values

from scorer.monitoring.metrics_files import MetricsFile

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
    "Seconds from a request's head to the end of its answer, by route.",
    ("route",),
    buckets=REQUEST_BUCKETS,
    registry=REGISTRY,
)
UPLOADS = Counter("kennel_uploads_total", "Zips that were accepted as submissions.", registry=REGISTRY)
UPLOAD_BYTES = Counter("kennel_upload_bytes_total", "Bytes of the accepted zips.", registry=REGISTRY)
JOBS = Counter(
    "kennel_jobs_total",
    "Jobs that a worker has ended, by queue and outcome: done, failed, released (goes on later) or lost.",
    ("queue", "outcome"),
    registry=REGISTRY,
)
JOB_FAILURES = Counter(
    "kennel_job_failures_total",
    "Attempts at jobs that have failed, by queue and reason: the error's slug or class.",
    ("queue", "reason"),
    registry=REGISTRY,
)
STAGE_SECONDS = Histogram(
    "kennel_job_stage_duration_seconds",
    "Seconds that jobs spent in a stage, by queue and stage.",
    ("queue", "stage"),
    buckets=STAGE_BUCKETS,
    registry=REGISTRY,
)
FORWARD_SECONDS = Counter(
    "kennel_forward_pass_seconds_total",
    "Seconds in which at least one batch was on its way through a network, by device, over all processes.",
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
    "Attempts at posting a notice to a webhook, by outcome: arrived or failed.",
    ("outcome",),
    registry=REGISTRY,
)
LAST_SWEEP = Gauge(
    "kennel_last_sweep_timestamp_seconds",
    "When the last sweep ended, in seconds since 1970.",
    multiprocess_mode="max",
    registry=REGISTRY,
)
