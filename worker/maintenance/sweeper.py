"""The sweep: frees expired leases, sends missing messages, and removes expired decoded images."""

import logging
from datetime import timedelta

from scorer.jobs import sweeps
from scorer.jobs.broker import waiting_messages
from scorer.monitoring.instruments import LAST_SWEEP
from worker.runtime import decoded_images
from worker.runtime.context import WorkerContext

log = logging.getLogger(__name__)


def sweep_once(context: WorkerContext) -> dict[str, int]:
    """Returns the number of changed jobs by kind of change. Frees leases even if the broker is unreachable."""
    with context.transaction() as session:
        done = sweeps.sweep_leases(
            session,
            now=context.now(),
            lease=context.lease,
            interval=timedelta(seconds=context.settings.sweep_seconds),
            max_attempts=context.settings.max_attempts,
        )
    announced = waiting_messages(context.broker)
    with context.transaction() as session:
        done |= sweeps.announce_due(session, announced)
    if any(done.values()):
        log.info("sweep: %s", done)
    decoded_images.make_room(context)
    LAST_SWEEP.set(context.now().timestamp())
    return done
