"""The sweep: what is stuck is freed, what has no message gets one, what nobody needs is removed."""

import logging

from scorer.jobs import leases
from scorer.jobs.broker import transaction, waiting_messages
from worker.runtime import decoded_images
from worker.runtime.context import WorkerContext

log = logging.getLogger(__name__)


def sweep_once(bench: WorkerContext) -> dict[str, int]:
    """One round; says in the log what it did, if anything."""
    announced = waiting_messages(bench.broker)
    with transaction(bench.sessions, bench.broker) as session:
        done = leases.sweep_jobs(
            session, now=bench.now(), max_attempts=bench.settings.max_attempts, announced=announced
        )
    if any(done.values()):
        log.info("sweep: %s", done)
    decoded_images.remove_expired(bench.scratch)
    return done
