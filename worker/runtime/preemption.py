"""Work that can wait makes room for a public score."""

from datetime import datetime, timedelta

from scorer.db.jobs import job_queue
from scorer.jobs.broker import transaction
from scorer.lifecycle import Queue
from worker.runtime.context import WorkerContext
from worker.runtime.heartbeat import Heartbeat
from worker.runtime.progress import StageProgress

PREEMPT_AFTER = timedelta(seconds=2)
"""A public score that nobody has begun for so long needs this worker."""


class Preempted(Exception):
    """A public score waits; this work can wait longer."""


def preemptible(context: WorkerContext, heartbeat: Heartbeat) -> StageProgress:
    """Progress that asks now and then whether a public score waits, and then raises ``Displaced``."""
    asked: datetime = context.now()

    def progress(stage: str, fraction: float) -> None:
        nonlocal asked
        heartbeat(stage, fraction)
        now = context.now()
        if now - asked < PREEMPT_AFTER:
            return
        asked = now
        with transaction(context.sessions, context.broker) as session:
            if job_queue.waits_since(session, Queue.SCORE, now - PREEMPT_AFTER):
                raise Preempted

    return progress
