"""The loss of a GPU ends the worker process, and Celery starts another in its place.

After an error of CUDA, everything that the process asks of its GPU fails; a new process may find it sound. The process
that follows tests the GPU before it claims a job (:mod:`worker.runtime.self_test`).
"""

import logging
import multiprocessing
from collections.abc import Iterator
from contextlib import contextmanager

from scorer.extractors import DeviceLost

log = logging.getLogger(__name__)

losses = multiprocessing.RawValue("i", 0)
"""How often, one after the other, the processes forked for this worker's jobs have lost their GPU; 0 once a job has
succeeded. Shared with those that follow."""


@contextmanager
def process_ends() -> Iterator[None]:
    """A context in which ``DeviceLost`` ends the process: it raises ``SystemExit``."""
    try:
        yield
    except DeviceLost as error:
        losses.value += 1
        log.critical("this process ends, for its GPU is lost: %s", error)
        raise SystemExit(1) from error
