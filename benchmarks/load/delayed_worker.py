"""``celery -A benchmarks.load.delayed_worker``: the service's worker with longer scores.

Before it scores with the competition's extractor, it waits as long as a real network would take for the entry, divided
by the factor that compresses time. Waiting costs no processor time: many workers fit on one machine.
"""

import json
import os
import random
import time

from benchmarks.load.last_hour_plan import SERVICE_SECONDS
from scorer.db.tables import Track
from scorer.jobs import leases
from scorer.lifecycle import Queue
from worker import app as worker_app
from worker import dispatch
from worker.runtime.context import WorkerContext
from worker.runtime.heartbeat import Heartbeat

app = worker_app.app
STEP_SECONDS = 0.5
"""Seconds between two reports of progress."""


def service_seconds(ranges: dict[str, tuple[float, float]], kind: str, submission_ref: int) -> float:
    """How long a score takes: uniform in its range, and always equal for a submission and kind of track."""
    low, high = ranges[kind]
    return random.Random(f"{kind}-{submission_ref}").uniform(low, high)


_score = dispatch.JOB_FUNCTIONS[Queue.SCORE]


def _wait_and_score(context: WorkerContext, claim: leases.Claim, heartbeat: Heartbeat) -> None:
    with context.sessions() as session:
        kind = session.get_one(Track, claim.job.track_id).kind
    total = service_seconds(json.loads(os.environ[SERVICE_SECONDS]), kind, claim.job.submission_ref or 0)
    begun = time.monotonic()
    while (passed := time.monotonic() - begun) < total:
        heartbeat("features", passed / total)
        time.sleep(min(STEP_SECONDS, total - passed))
    _score(context, claim, heartbeat)


dispatch.JOB_FUNCTIONS[Queue.SCORE] = _wait_and_score
