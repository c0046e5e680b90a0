"""What boards of the past cost in the rate limits: each is ranked for its reader alone."""

from fastapi import Depends, Request
from fastapi.concurrency import run_in_threadpool

from api.http.dependencies import AppRateLimiter, CurrentBrowser, CurrentCaller, requester_of
from scorer.accounts.rate_limits import PAST_BOARD_COST


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


PastBoardCharge = Depends(charge_past_board)
BoardVersionsCharge = Depends(charge_board_versions)
