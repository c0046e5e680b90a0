"""``celery -A benchmarks.load.delayed_worker``: the service's worker, whose scores take longer.

Before it scores with the extractor of the competition, it waits as long as a real network would take for the same
entry, divided by the factor by which a rehearsal compresses time. The waiting costs no processor time, so many workers
fit on one machine.
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
"""Between two reports of progress."""


def service_seconds(ranges: dict[str, tuple[float, float]], kind: str, submission_ref: int) -> float:
    """How long a score takes: the same for the same submission and kind of track, uniform in its range."""
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
