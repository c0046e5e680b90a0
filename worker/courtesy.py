"""Work that can wait makes room for a public score."""

from datetime import datetime, timedelta

from scorer.db.jobs import job_queue
from scorer.jobs.broker import transaction
from scorer.lifecycle import Queue
from worker.bench import Bench
from worker.heartbeat import Heartbeat
from worker.measuring import Progress

PATIENCE = timedelta(seconds=2)
"""A public score that nobody has begun for so long needs this worker."""


class Displaced(Exception):
    """A public score waits; this work can wait longer."""


def courteous(bench: Bench, heartbeat: Heartbeat) -> Progress:
    """Progress that asks now and then whether a public score waits, and then raises ``Displaced``."""
    asked: datetime = bench.now()

    def progress(stage: str, fraction: float) -> None:
        nonlocal asked
        heartbeat(stage, fraction)
        now = bench.now()
        if now - asked < PATIENCE:
            return
        asked = now
        with transaction(bench.sessions, bench.broker) as session:
            if job_queue.waits_since(session, Queue.SCORE, now - PATIENCE):
                raise Displaced

    return progress
