"""The health of a worker: whether it may claim jobs, or should first find out why several have failed on it.

A broken worker fails fast, so it would take and fail all entries before a working one could. A process that has lost
its GPU ends, and Celery starts another one: after a CUDA error all GPU operations of the process fail, but a new
process may work. It tests the GPU before it claims a job (:mod:`worker.runtime.self_test`).
"""

import logging
import multiprocessing
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from scorer.extractors import DeviceLost

log = logging.getLogger(__name__)

MAX_FAILED_JOBS = 1
"""Different jobs that may fail in a row before the worker is suspected instead of the jobs."""
PAUSE_SECONDS = (60.0, 300.0, 900.0)
"""How long a suspected worker claims no jobs, after its first, second and later failures."""

SelfTest = Callable[[], str | None]
"""Returns the worker's fault, or None."""


@dataclass
class WorkerHealth:
    """The state of one worker process. ``clock`` is monotonic, in seconds; ``factor`` multiplies the pauses."""

    clock: Callable[[], float] = time.monotonic
    factor: float = 1.0
    failed_jobs: set[int] = field(default_factory=set)
    """Different jobs that have failed here since the last success."""
    problem: str | None = None
    """The result of the last self-test."""
    pauses: int = 0
    claims_from: float = 0.0

    @property
    def is_suspect(self) -> bool:
        """Whether this worker, and not the jobs, is assumed to cause the failures."""
        return self.problem is not None or len(self.failed_jobs) > MAX_FAILED_JOBS

    def suspect(self, problem: str, *, failures: int) -> None:
        """Suspect this worker from the start, because ``failures`` processes in its place have ended in a row. It tests
        itself before it claims a job; unless it is the first replacement, it pauses before that.
        """
        self.problem = problem
        if failures > 1:
            self.pauses = failures - 2
            self._pause()

    def record_success(self) -> None:
        """A job has succeeded, so the jobs caused earlier failures."""
        self.failed_jobs.clear()
        self.problem = None
        self.pauses = 0

    def record_failure(self, job_id: int, self_test: SelfTest) -> None:
        """A job has failed with an unexpected error: test this worker, and pause it if it is suspected."""
        self.failed_jobs.add(job_id)
        self.problem = self_test()
        if self.is_suspect:
            self._pause()

    def may_claim(self, self_test: SelfTest) -> bool:
        """Whether the worker may claim a job: it is not suspected, or a pause is over and it passes its self-test."""
        if not self.is_suspect:
            return True
        if self.clock() < self.claims_from:
            return False
        if self.problem is not None:
            self.problem = self_test()
            if self.problem is not None:
                self._pause()
        return self.problem is None

    def _pause(self) -> None:
        pause = self.factor * PAUSE_SECONDS[min(self.pauses, len(PAUSE_SECONDS) - 1)]
        self.pauses += 1
        self.claims_from = self.clock() + pause
        reason = self.problem or "its self-test found nothing, but several jobs have failed here"
        log.error("this worker claims no jobs for %.0f s: %s", pause, reason)


device_losses = multiprocessing.RawValue("i", 0)
"""How many of this worker's processes have lost their GPU in a row; 0 after a success. Later processes see it."""


@contextmanager
def end_on_device_loss() -> Iterator[None]:
    """A context in which ``DeviceLost`` ends the process with ``SystemExit``."""
    try:
        yield
    except DeviceLost as error:
        device_losses.value += 1
        log.critical("this process ends because its GPU is lost: %s", error)
        raise SystemExit(1) from error
