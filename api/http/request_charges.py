"""How many requests an expensive response counts as: past boards, tables and figures.

These are functions and not dependencies: dependencies would slow down every request, and few responses are expensive.
"""

from fastapi import Request

from api.http.dependencies import build_requester_key, read_browser
from api.http.rate_limits import FIGURE_COST, PAST_BOARD_COST, ROWS_PER_REQUEST, RateLimiter
from scorer.db.tables import Account


def charge_past_board(request: Request, account: Account | None) -> None:
    """Count a past board, or a comparison with an earlier version, as several requests: it is ranked for one reader."""
    _charge(request, account, PAST_BOARD_COST - 1)


def charge_rows(request: Request, account: Account | None, rows: int) -> None:
    """Count a table as several requests, before writing its first row."""
    if cost := rows // ROWS_PER_REQUEST:
        _charge(request, account, cost)


def charge_figures(request: Request, account: Account | None, figures: int) -> None:
    """Count figures that are not cached as several requests."""
    _charge(request, account, figures * FIGURE_COST - 1)


def _charge(request: Request, account: Account | None, cost: int) -> None:
    rates: RateLimiter = request.app.state.rates
    rates.hit("request", *build_requester_key(account, read_browser(request)), cost=cost)
