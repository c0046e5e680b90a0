"""Start-up of a worker: checks of its clock, its connections, its GPU and the weights of the tracks; metrics."""

import logging
from typing import Any

from celery.signals import (
    worker_init,
    worker_process_init,
    worker_process_shutdown,
    worker_ready,
    worker_shutting_down,
)

from scorer.db import competitions
from scorer.db.session import connected, require_connections, require_right_clock
from scorer.errors import Unavailable
from scorer.extractors import fingerprint
from scorer.jobs.broker import require_single_server
from scorer.lifecycle import Queue
from scorer.monitoring.exposition import require_metrics_folder, serve_metrics
from scorer.monitoring.traces import configure_traces, end_traces, require_exporter
from scorer.settings import Settings, read_settings
from worker.runtime.context import build_extractor_options, utc_now
from worker.runtime.device_probe import device_fault
from worker.runtime.heartbeat import stopping
from worker.runtime.scratch import require_scratch

log = logging.getLogger(__name__)


def require_weights(settings: Settings) -> None:
    """Raise ``Unavailable`` with one sentence if weights that a track needs are missing or wrong."""
    with connected(settings) as sessions, sessions() as session:
        needed = competitions.extractors_in_use(session)
    for identity in needed:
        fingerprint(identity, build_extractor_options(settings))


def require_device(settings: Settings) -> None:
    """Raise ``Unavailable`` with one sentence if the settings request a GPU that does not work."""
    fault = device_fault(settings.device) if settings.device.startswith("cuda") else None
    if fault is not None:
        raise Unavailable("no-gpu", fault)


def require_database(settings: Settings) -> None:
    """Raise ``Unavailable`` if this machine's clock is wrong or all processes could open too many connections."""
    with connected(settings) as sessions:
        require_right_clock(sessions, utc_now)
        require_connections(sessions, settings)


@worker_shutting_down.connect
def requeue_running_jobs(**_: object) -> None:
    """Requeue running jobs at their next progress report: a deployment costs no attempt."""
    stopping.value = 1


@worker_init.connect
def refuse_to_start(sender: Any, **_: object) -> None:
    """End a worker with one sentence, instead of a failure per entry, if its clock is wrong or its connections would be
    refused; a scoring worker also if its weights are missing or its GPU does not work.
    """
    settings = read_settings()
    try:
        if settings.metrics_port is not None:
            require_metrics_folder()
        require_exporter(settings.traces_endpoint)
        if {*Queue} & {*sender.app.amqp.queues.consume_from}:
            require_scratch(settings.scratch)
        require_database(settings)
        require_single_server(settings)
        if Queue.SCORE in sender.app.amqp.queues.consume_from:
            require_weights(settings)
            require_device(settings)
    except Unavailable as error:
        raise SystemExit(error.message) from None


@worker_process_init.connect
def begin_traces(**_: object) -> None:
    """Called in each process that runs jobs, because threads don't survive a fork."""
    configure_traces(read_settings().traces_endpoint, "kennel-worker")


@worker_process_shutdown.connect
def send_last_traces(**_: object) -> None:
    """Send the waiting spans: these processes end without the interpreter's exit handlers."""
    end_traces()


@worker_ready.connect
def offer_metrics(sender: Any, **_: object) -> None:
    """Report that the worker is ready, and serve the metrics of all its processes if the operator has set a port."""
    settings = read_settings()
    log.info("this worker is ready for the queues %s", ", ".join(sender.app.amqp.queues.consume_from))
    token = settings.metrics_token
    if settings.metrics_port is not None:
        try:
            serve_metrics(settings.metrics_port, token.get_secret_value() if token is not None else None)
        except OSError as error:  # another worker of this machine uses the port; jobs run anyway
            log.error(  # noqa: TRY400 - the sentence says it all
                "this worker serves no metrics: KENNEL_METRICS_PORT=%s: %s", settings.metrics_port, error.strerror
            )
