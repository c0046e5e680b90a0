"""The transaction of a request."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager, asynccontextmanager
from functools import partial

from anyio import CancelScope, CapacityLimiter, to_thread
from sqlalchemy.orm import Session

from scorer.db.session import has_connected

Transaction = Callable[[], AbstractContextManager[Session]]


@asynccontextmanager
async def request_transaction(begin: Transaction) -> AsyncIterator[Session]:
    """A transaction for the time of the block: committed at its end, rolled back after an exception.

    To begin it takes no connection yet. It ends in a thread if it has taken one since; a request that read nothing but
    caches, which is most of them, does without.
    """
    manager = begin()
    session = manager.__enter__()
    try:
        yield session
    except BaseException as error:
        if not await _ended(session, partial(manager.__exit__, type(error), error, error.__traceback__)):
            raise
    else:
        await _ended(session, partial(manager.__exit__, None, None, None))


async def _ended(session: Session, end: Callable[[], bool | None]) -> bool | None:
    if not has_connected(session):
        return end()
    # Not in one of the threads that requests wait for: these may all be waiting for the connection of this session.
    limiter = CapacityLimiter(1)
    suppressed: bool | None = None
    with CancelScope(shield=True):
        suppressed = await to_thread.run_sync(end, limiter=limiter)
    return suppressed
