"""Preemption: background jobs yield to public scoring."""

from datetime import datetime, timedelta

from scorer.db.jobs import job_queue
from scorer.lifecycle import Queue
from scorer.progress import StageProgress
from worker.runtime import device_turns
from worker.runtime.context import WorkerContext
from worker.runtime.heartbeat import Heartbeat

PREEMPT_AFTER = timedelta(seconds=2)
"""How long a public score waits unclaimed before a background job yields, and how often that is checked."""


class Preempted(Exception):
    """This background job ends and is requeued, for a public score or for other jobs."""


def preemptible(context: WorkerContext, heartbeat: Heartbeat) -> StageProgress:
    """A progress callback that checks from time to time whether a public score waits for this worker, or for the device
    in another of its processes, and then raises :class:`Preempted`. A worker that does not score is never preempted.
    """
    checked_at: datetime = context.now()

    def progress(stage: str, fraction: float) -> None:
        nonlocal checked_at
        heartbeat(stage, fraction)
        now = context.now()
        if Queue.SCORE not in context.queues or now - checked_at < PREEMPT_AFTER:
            return
        checked_at = now
        if device_turns.is_wanted():
            raise Preempted
        with context.transaction() as session:
            if job_queue.waits_longer(session, Queue.SCORE, PREEMPT_AFTER):
                raise Preempted

    return progress
