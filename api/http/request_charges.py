"""What dear answers cost in the rate limits: boards ranked, tables written, and figures drawn.

Routes call these functions, which are no dependencies: every request would pay for those, and few answers are dear.
"""

from fastapi import Request

from api.http.dependencies import browser_of, requester_of
from api.http.rate_limits import FIGURE_COST, PAST_BOARD_COST, ROWS_PER_REQUEST, RateLimiter
from scorer.db.tables import Account


def charge_past_board(request: Request, account: Account | None) -> None:
    """Count a board of a past moment, or a comparison with an earlier version, as several requests: it is ranked for
    this reader alone."""
    _charge(request, account, PAST_BOARD_COST - 1)


def charge_rows(request: Request, account: Account | None, rows: int) -> None:
    """Count a table of so many rows as several requests, before the first of them is written."""
    if cost := rows // ROWS_PER_REQUEST:
        _charge(request, account, cost)


def charge_figures(request: Request, account: Account | None, figures: int) -> None:
    """Count figures that are drawn anew as several requests."""
    _charge(request, account, figures * FIGURE_COST - 1)


def _charge(request: Request, account: Account | None, cost: int) -> None:
    rates: RateLimiter = request.app.state.rates
    rates.hit("request", *requester_of(account, browser_of(request)), cost=cost)
