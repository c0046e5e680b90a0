"""The cost of a request: its statements and rows, relative to the number of requests that the rate limit counts."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple
from unittest.mock import patch

from api.http.rate_limits import RateLimiter
from tests.sql_statements import counted_rows, counted_statements

MAX_STATEMENTS = 25
MAX_ROWS = 120
"""Rows that a request may read for each request that the rate limit counts: about a page of the board, and fewer than
the teams in the tests."""


class Cost(NamedTuple):
    """The statements of a request, the rows that they read, and the number of requests that the rate limit counts."""

    statements: int
    rows: int
    requests: int

    @property
    def is_expensive(self) -> bool:
        """Whether the request costs more than the rate limit counts."""
        return self.statements > MAX_STATEMENTS * self.requests or self.rows > MAX_ROWS * self.requests


@contextmanager
def measured_cost() -> Iterator[list[Cost]]:
    """Measure the cost of one request. The list gets its only element when the context ends."""
    costs: list[Cost] = []
    counted: list[int] = []

    def hit(_: RateLimiter, name: str, *__: object, cost: int = 1) -> None:
        counted.append(cost * (name == "request"))

    with counted_statements() as taken, counted_rows() as rows, patch.object(RateLimiter, "hit", hit):
        yield costs
    costs.append(Cost(len(taken), sum(rows), max(1, sum(counted))))
