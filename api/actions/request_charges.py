"""What dear answers cost in the rate limits: boards ranked, and tables written, for one reader alone."""

from collections.abc import Callable
from functools import partial
from typing import Annotated

from fastapi import Depends, Request
from fastapi.concurrency import run_in_threadpool

from api.http.dependencies import AppRateLimiter, CurrentBrowser, CurrentCaller, requester_of
from scorer.accounts.rate_limits import PAST_BOARD_COST, ROWS_PER_REQUEST, RateLimiter


async def charge_past_board(
    request: Request,
    caller: CurrentCaller,
    browser: CurrentBrowser,
    rates: AppRateLimiter,
) -> None:
    """Count a board of a past moment (``as_of``), which is ranked for this reader alone, as several requests."""
    if request.query_params.get("as_of"):
        await charge_board_versions(caller, browser, rates)


async def charge_board_versions(
    caller: CurrentCaller,
    browser: CurrentBrowser,
    rates: AppRateLimiter,
) -> None:
    """Count a comparison with an earlier version of a board as a board of a past moment."""
    await run_in_threadpool(rates.hit, "request", *requester_of(caller, browser), cost=PAST_BOARD_COST - 1)


async def charge_of_rows(
    caller: CurrentCaller, browser: CurrentBrowser, rates: AppRateLimiter
) -> Callable[[int], None]:
    """Counts a table of so many rows for whoever asks (:func:`charge_rows`)."""
    return partial(charge_rows, rates, requester_of(caller, browser))


def charge_rows(rates: RateLimiter, requester: tuple[str, object], rows: int) -> None:
    """Count a table of so many rows as several requests, before the first of them is written."""
    if cost := rows // ROWS_PER_REQUEST:
        rates.hit("request", *requester, cost=cost)


PastBoardCharge = Depends(charge_past_board)
BoardVersionsCharge = Depends(charge_board_versions)
RowsCharge = Annotated[Callable[[int], None], Depends(charge_of_rows)]
