"""The report of a worker: written to the database at the start and every minute, removed at the end.

Like the liveness file it depends on Celery's heartbeat: a worker that hangs or has lost the broker stops reporting.
"""

import logging
import threading
from collections.abc import Callable
from typing import Any

from celery.signals import heartbeat_sent, worker_ready, worker_shutdown

import migrations
from scorer.db.jobs import worker_reports
from scorer.db.session import connected, unavailability
from scorer.extractors.weights import installed_weights
from scorer.product_version import product_version
from scorer.settings import Settings, read_settings
from worker.runtime.context import build_extractor_options

log = logging.getLogger(__name__)
END_SECONDS = 5.0
"""How long an ending worker waits for the removal of its report. A remaining report expires."""
_ended = threading.Event()
_has_beaten = threading.Event()


def write_report(settings: Settings, worker: str, queues: list[str]) -> None:
    extractors = installed_weights(build_extractor_options(settings))
    with connected(settings) as sessions, sessions.begin() as session:
        worker_reports.write_report(
            session,
            worker,
            version=product_version(),
            migration=migrations.newest_revision() or "",
            queues=queues,
            extractors=extractors,
        )


def remove_report(settings: Settings, worker: str) -> None:
    with connected(settings) as sessions, sessions.begin() as session:
        worker_reports.remove_report(session, worker)


@heartbeat_sent.connect
def note_heartbeat(**_: object) -> None:
    """Note that the process that receives messages is alive."""
    _has_beaten.set()


@worker_ready.connect
def start_reporting(sender: Any, **_: object) -> None:
    """Report from now on, until this worker ends."""
    settings, worker, queues = read_settings(), sender.hostname, list(sender.app.amqp.queues.consume_from)
    note_heartbeat()
    thread = threading.Thread(target=_report, args=(settings, worker, queues), name="report", daemon=True)
    thread.start()

    def end(**_: object) -> None:
        _ended.set()
        thread.join(END_SECONDS)

    worker_shutdown.connect(end, weak=False)


def _report(settings: Settings, worker: str, queues: list[str]) -> None:
    while not _ended.is_set():
        if _has_beaten.is_set():
            _has_beaten.clear()
            _attempt(write_report, settings, worker, queues)
        _ended.wait(worker_reports.INTERVAL.total_seconds())
    _attempt(remove_report, settings, worker)


def _attempt(act: Callable[..., None], *arguments: object) -> None:
    try:
        act(*arguments)
    except Exception as error:  # noqa: BLE001 - jobs are done all the same
        log.warning("the report of this worker could not be changed: %s", unavailability(error))
