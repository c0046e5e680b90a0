"""The heartbeat of a job: while it runs, a thread renews its lease and records its progress."""

import logging
import multiprocessing
import threading
import time
from contextvars import copy_context
from types import TracebackType

from scorer.db.jobs import job_queue
from scorer.db.session import is_unavailable, unavailability
from scorer.jobs import leases
from scorer.monitoring.instruments import STAGE_SECONDS
from scorer.monitoring.traces import add_stage
from worker.runtime.context import WorkerContext

log = logging.getLogger(__name__)
BEATS_A_LEASE = 15
"""Heartbeats within a lease: one every two seconds by default."""
END_SECONDS = 0.5
"""How long a finished job waits for its last heartbeat if the database is silent; a late one changes nothing."""


stopping = multiprocessing.RawValue("b", 0)
"""1 once this worker must stop. Its job processes share it, without a lock that a killed one could leave locked."""


class WorkerStopping(Exception):
    """This worker has to stop, so its job is requeued."""


class LeaseLost(Exception):
    """Another worker has the job now; this worker's result must be dropped."""


class Heartbeat:
    """Context manager around a job. Calling it (``heartbeat("features", 0.4)``) reports progress, and raises
    ``LeaseLost`` as soon as another worker is known to have the job, or ``WorkerStopping``.
    """

    def __init__(self, context: WorkerContext, claim: leases.Claim) -> None:
        self.context = context
        self.claim = claim
        self._stage: str | None = None
        self._fraction: float | None = None
        self._moved_at = self._stage_began = time.monotonic()
        self._lost = False
        self._end = threading.Event()
        self._thread = threading.Thread(
            target=copy_context().run, args=(self._run,), name="heartbeat", daemon=True
        )  # so that its log lines have the IDs of the job

    def __call__(self, stage: str, fraction: float) -> None:
        progress = (stage, min(max(fraction, 0.0), 1.0))
        if progress != (self._stage, self._fraction):
            if stage != self._stage:
                self._end_stage()
                add_stage(stage)
            self._stage, self._fraction = progress
            self._moved_at = time.monotonic()
        self.require_lease()
        if stopping.value:
            raise WorkerStopping(self.job)

    def _end_stage(self) -> None:
        """Count the seconds of the stage that ends now."""
        now = time.monotonic()
        if self._stage is not None:
            STAGE_SECONDS.labels(self.claim.queue.value, self._stage.partition(" ")[0]).observe(now - self._stage_began)
        self._stage_began = now

    @property
    def job(self) -> str:
        return f"job {self.claim.job.id}"

    def require_lease(self) -> None:
        """Raise ``LeaseLost`` if another worker is known to have the job."""
        if self._lost:
            raise LeaseLost(self.job)

    def __enter__(self) -> "Heartbeat":
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end_stage()
        self._end.set()
        self._thread.join(END_SECONDS)

    def _run(self) -> None:
        while not self._end.wait(self.context.lease.total_seconds() / BEATS_A_LEASE):
            try:
                self._beat()
            except Exception as error:
                # if this continues for too long, the lease expires
                if is_unavailable(error):
                    log.warning("a heartbeat of %s failed: %s", self.job, unavailability(error))
                else:
                    log.exception("a heartbeat of %s failed", self.job)

    def _beat(self) -> None:
        context = self.context
        if time.monotonic() - self._moved_at > context.settings.max_stall_seconds:
            log.error("%s has made no progress since stage %s: its lease is left to expire", self.job, self._stage)
            return
        with context.transaction() as session:
            renewed = job_queue.renew_lease(
                session,
                self.claim.job.id,
                self.claim.holder,
                stage=self._stage,
                fraction=self._fraction,
                lease=context.lease,
            )
        self._lost = not renewed
