"""Transactions that record how a job ended, repeated while the database is busy or unreachable.

A result may have taken an hour to compute. A lock timeout, a deadlock or a lost connection is soon over, so none of
them is a reason to compute it again. Tasks that only look for jobs end instead.
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from time import sleep
from typing import Protocol, TypeVar

from sqlalchemy.orm import Session

from scorer.db.session import UNAVAILABLE, is_unavailable, unavailability
from scorer.errors import Unavailable
from scorer.jobs.leases import Claim
from worker.runtime.context import WorkerContext
from worker.runtime.heartbeat import Heartbeat, LeaseLost

T = TypeVar("T")
Result_contra = TypeVar("Result_contra", contravariant=True)

log = logging.getLogger(__name__)

RETRY_SECONDS = (0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 30.0, 30.0, 60.0, 60.0, 60.0)
"""Pauses between the tries: about five minutes, plus the time that each try waits for locks."""


def retry_transaction(
    context: WorkerContext, act: Callable[[Session], T], *, between: Callable[[], object] = lambda: None
) -> T:
    """Call ``act`` in a transaction, repeatedly while the database is busy or unreachable, and return its result.
    ``between`` is called before each further try, and may raise. Raises one of ``UNAVAILABLE`` if no try succeeds.
    """
    for seconds in RETRY_SECONDS:
        pause = seconds * context.settings.retry_factor
        try:
            with context.transaction() as session:
                return act(session)
        except UNAVAILABLE as error:
            log.warning("the database could not be written to, next try in %g s: %s", pause, unavailability(error))
            sleep(pause)
            between()
    with context.transaction() as session:
        return act(session)


class Record(Protocol[Result_contra]):
    """Records the result of a claimed job and finishes the job; False if the claim no longer holds it."""

    def __call__(self, session: Session, claim: Claim, result: Result_contra, /, *, now: datetime) -> bool: ...


def record_result(heartbeat: Heartbeat, record: Record[T], result: T) -> None:
    """Record the result of the claimed job in a transaction. Raises ``LeaseLost`` if the lease has been lost. A commit
    that succeeded without an acknowledgement also looks like a lost lease, because the job is then done.
    """

    def attempt(session: Session) -> bool:
        return record(session, heartbeat.claim, result, now=heartbeat.context.now())

    if not retry_transaction(heartbeat.context, attempt, between=heartbeat.require_lease):
        raise LeaseLost(heartbeat.job)


@contextmanager
def one_line_in_outages() -> Iterator[None]:
    """End a task with one line instead of a traceback while the database or the blob store is busy or unreachable, or
    the clock is wrong. The next message, which a sweep sends, finds the same jobs.
    """
    try:
        yield
    except Unavailable as error:
        log.warning("a task was not completed: %s", error)
    except Exception as error:
        if not is_unavailable(error):
            raise
        log.warning("a task was not completed: %s", unavailability(error))
