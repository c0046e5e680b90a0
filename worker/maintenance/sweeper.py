"""The sweep: what is stuck is freed, what has no message gets one, what nobody needs is removed."""

import logging

from scorer.jobs import leases
from scorer.jobs.broker import transaction, waiting_messages
from worker.runtime import decoded_images
from worker.runtime.context import WorkerContext

log = logging.getLogger(__name__)


def sweep_once(context: WorkerContext) -> dict[str, int]:
    """One round; says in the log what it did, if anything."""
    announced = waiting_messages(context.broker)
    with transaction(context.sessions, context.broker) as session:
        done = leases.sweep_jobs(
            session, now=context.now(), max_attempts=context.settings.max_attempts, announced=announced
        )
    if any(done.values()):
        log.info("sweep: %s", done)
    decoded_images.remove_expired(context.scratch)
    return done
