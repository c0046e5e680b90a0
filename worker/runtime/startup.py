"""Start-up of a worker: log levels, and the check that the weights of every extractor that a track names are there."""

import logging
from typing import Any

from celery.signals import after_setup_logger, worker_init

from scorer.db import competitions
from scorer.db.session import engine_of, sessions_of
from scorer.errors import Unavailable
from scorer.extractors import fingerprint
from scorer.lifecycle import Queue
from scorer.settings import Settings, read_settings
from worker.runtime.context import extractor_options_of


def require_weights(settings: Settings) -> None:
    """Raise ``Unavailable`` in one sentence if weights that a track needs are missing or wrong."""
    engine = engine_of(settings)
    try:
        with sessions_of(engine)() as session:
            needed = competitions.extractors_in_use(session)
    finally:
        engine.dispose()
    for identity in needed:
        fingerprint(identity, extractor_options_of(settings))


@after_setup_logger.connect
def log_our_work(**_: object) -> None:
    """Log our own packages at the level of the settings, whatever Celery's is."""
    for package in ("worker", "scorer"):
        logging.getLogger(package).setLevel(read_settings().log_level)


@worker_init.connect
def refuse_to_start(sender: Any, **_: object) -> None:
    """End a scoring worker whose weights are missing, with one sentence instead of a failure per entry."""
    if Queue.SCORE not in sender.app.amqp.queues.consume_from:
        return
    try:
        require_weights(read_settings())
    except Unavailable as error:
        raise SystemExit(error.message) from None
