"""A limit on the requests that one account has in progress at once: plain ASGI, with a function for who asks.

Requests are answered in a bounded number of threads. Without a limit one account that asks for what takes long could
keep all of them.
"""

from collections import Counter

from fastapi import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from scorer.errors import TooMany

MAX_REQUESTS_OF_AN_ACCOUNT = 20
"""In one process. Fewer than it has threads for requests, 40, and database connections for all but boards, 26."""
SCOPE_KEY = "kennel.counted_request"


class ConcurrentRequests:
    """Counts the requests of ``app`` until they are over."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._accounts: Counter[int] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = scope[SCOPE_KEY] = _CountedRequest(self._accounts)
        try:
            await self._app(scope, receive, send)
        finally:
            request.end()


class _CountedRequest:
    """One request, of nobody at first."""

    def __init__(self, accounts: Counter[int]) -> None:
        self._accounts = accounts
        self._account_id: int | None = None

    def begin(self, account_id: int) -> None:
        """Count it as an account's; ``TooMany`` if it is one too many."""
        if self._accounts[account_id] >= MAX_REQUESTS_OF_AN_ACCOUNT:
            raise TooMany(
                "too-many-requests",
                f"You have {MAX_REQUESTS_OF_AN_ACCOUNT} requests in progress already. Please wait until one has ended.",
                retry_after=1,
            )
        self._accounts[account_id] += 1
        self._account_id = account_id

    def end(self) -> None:
        """Count it no longer."""
        if self._account_id is not None:
            self._accounts[self._account_id] -= 1
            if not self._accounts[self._account_id]:
                del self._accounts[self._account_id]
        self._account_id = None


def count_request(request: Request, account_id: int) -> None:
    """Count a request as one of an account's until it is over; ``TooMany`` if it is one too many. To be called in the
    event loop."""
    request.scope[SCOPE_KEY].begin(account_id)


def uncount_request(request: Request) -> None:
    """Count a request no longer: its answer, an event stream, takes no thread and has a limit of its own."""
    request.scope[SCOPE_KEY].end()
