"""Start-up of a worker: log levels, and the checks of its clock and of the weights that tracks need."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from celery.signals import after_setup_logger, worker_init, worker_shutting_down

from scorer.db import competitions
from scorer.db.session import Sessions, engine_of, require_right_clock, sessions_of
from scorer.errors import Unavailable
from scorer.extractors import fingerprint
from scorer.lifecycle import Queue
from scorer.settings import Settings, read_settings
from worker.runtime.context import extractor_options_of, utc_now
from worker.runtime.heartbeat import stopping


@contextmanager
def _connected(settings: Settings) -> Iterator[Sessions]:
    """Sessions for the checks, whose connections are closed before the worker forks."""
    engine = engine_of(settings)
    try:
        yield sessions_of(engine)
    finally:
        engine.dispose()


def require_weights(settings: Settings) -> None:
    """Raise ``Unavailable`` in one sentence if weights that a track needs are missing or wrong."""
    with _connected(settings) as sessions, sessions() as session:
        needed = competitions.extractors_in_use(session)
    for identity in needed:
        fingerprint(identity, extractor_options_of(settings))


def require_clock(settings: Settings) -> None:
    """Raise ``Unavailable`` in one sentence if this machine's clock is not the database's."""
    with _connected(settings) as sessions:
        require_right_clock(sessions, utc_now)


@after_setup_logger.connect
def log_our_work(**_: object) -> None:
    """Log our own packages at the level of the settings, whatever Celery's is."""
    for package in ("worker", "scorer"):
        logging.getLogger(package).setLevel(read_settings().log_level)


@worker_shutting_down.connect
def give_back_jobs(**_: object) -> None:
    """Let running jobs go back to the queue at their next progress report: a deploy costs no attempt."""
    stopping.value = 1


@worker_init.connect
def refuse_to_start(sender: Any, **_: object) -> None:
    """End a worker whose clock is wrong, or a scoring one whose weights are missing, with one sentence instead of a
    failure per entry."""
    settings = read_settings()
    try:
        require_clock(settings)
        if Queue.SCORE in sender.app.amqp.queues.consume_from:
            require_weights(settings)
    except Unavailable as error:
        raise SystemExit(error.message) from None
