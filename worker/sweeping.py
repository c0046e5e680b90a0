"""The sweep: what is stuck is freed, what has no message gets one, what nobody needs is removed."""

import logging
import time

from scorer import work
from scorer.queue import transaction, waiting_messages
from worker.bench import Bench
from worker.pixels import PIXELS

log = logging.getLogger(__name__)
PIXELS_KEPT_SECONDS = 24 * 3600
"""Decoded images are removed after the last track; this is for those of jobs that ended otherwise."""


def sweep_once(bench: Bench) -> dict[str, int]:
    """One round; says in the log what it did, if anything."""
    announced = waiting_messages(bench.broker)
    with transaction(bench.sessions, bench.broker) as session:
        done = work.sweep(session, now=bench.now(), max_attempts=bench.settings.max_attempts, announced=announced)
    if any(done.values()):
        log.info("sweep: %s", done)
    _remove_old_pixels(bench)
    return done


def _remove_old_pixels(bench: Bench) -> None:
    oldest = time.time() - PIXELS_KEPT_SECONDS
    for path in (bench.scratch / PIXELS).glob("*.npy*"):
        if path.stat().st_mtime < oldest:
            path.unlink(missing_ok=True)
