"""Limits how many requests an account has in progress. Plain ASGI; :func:`count_request` names the account.

A bounded number of threads answers requests. Without the limit, slow requests of one account could occupy all of them.
"""

from collections import Counter

from fastapi import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from scorer.errors import TooMany

MAX_REQUESTS_PER_ACCOUNT = 20
"""In one process. Below its 40 request threads, and below its 26 database connections for everything except boards."""
SCOPE_KEY = "kennel.counted_request"


class ConcurrentRequests:
    """Counts the requests of ``app`` until they end."""

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
    """A request that belongs to nobody until :meth:`begin`."""

    def __init__(self, accounts: Counter[int]) -> None:
        self._accounts = accounts
        self._account_id: int | None = None

    def begin(self, account_id: int) -> None:
        """Count the request for an account; ``TooMany`` if it exceeds the limit."""
        if self._accounts[account_id] >= MAX_REQUESTS_PER_ACCOUNT:
            raise TooMany(
                "too-many-requests",
                f"You already have {MAX_REQUESTS_PER_ACCOUNT} requests in progress. Wait until one ends.",
                retry_after=1,
            )
        self._accounts[account_id] += 1
        self._account_id = account_id

    def end(self) -> None:
        if self._account_id is not None:
            self._accounts[self._account_id] -= 1
            if not self._accounts[self._account_id]:
                del self._accounts[self._account_id]
        self._account_id = None


def count_request(request: Request, account_id: int) -> None:
    """Count a request for an account until it ends; ``TooMany`` if it exceeds the limit. Call it in the event loop."""
    request.scope[SCOPE_KEY].begin(account_id)


def uncount_request(request: Request) -> None:
    """Stop counting a request: its response is an event stream, which needs no thread and has its own limit."""
    request.scope[SCOPE_KEY].end()
