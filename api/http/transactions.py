"""The transaction of a request."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager, asynccontextmanager
from functools import partial
from typing import Any, Concatenate, ParamSpec, TypeVar

from anyio import CancelScope, CapacityLimiter, to_thread
from sqlalchemy.orm import Session

from api.http.forms import RefusedForm
from scorer.db.session import has_connected

T = TypeVar("T")
P = ParamSpec("P")
Transaction = Callable[[], AbstractContextManager[Session]]


def in_transaction(begin: Transaction, function: Callable[Concatenate[Session, P], T]) -> Callable[P, T]:
    """``function`` in a transaction of its own; its first argument is the session."""

    def run(*args: P.args, **values: P.kwargs) -> T:
        with begin() as session:
            return function(session, *args, **values)

    return run


@asynccontextmanager
async def request_transaction(begin: Transaction) -> AsyncIterator[Session]:
    """A transaction for the block: committed at its end or after a ``RefusedForm``, rolled back after other exceptions.

    It takes a connection only when the block first needs one, and then ends in a thread. Most requests only read caches
    and need no connection.
    """
    manager = begin()
    session = manager.__enter__()
    outcome: tuple[Any, Any, Any] = (None, None, None)
    try:
        yield session
    except BaseException as error:
        if not isinstance(error, RefusedForm):
            outcome = type(error), error, error.__traceback__
        raise
    finally:
        end = partial(manager.__exit__, *outcome)
        with CancelScope(shield=True):
            if has_connected(session):
                # Not in a thread for requests: all of them may be waiting for this session's connection.
                await to_thread.run_sync(end, limiter=CapacityLimiter(1))
            else:
                end()
