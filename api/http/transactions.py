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
        with CancelScope(shield=True):
            await _end(session, partial(manager.__exit__, type(error), error, error.__traceback__))
        raise
    else:
        with CancelScope(shield=True):
            await _end(session, partial(manager.__exit__, None, None, None))


async def _end(session: Session, exit_manager: Callable[[], object]) -> None:
    if has_connected(session):
        # Not in one of the threads that requests wait for: these may all be waiting for this session's connection.
        await to_thread.run_sync(exit_manager, limiter=CapacityLimiter(1))
    else:
        exit_manager()
