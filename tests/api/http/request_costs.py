"""What a request costs: statements and rows, which are the same on every machine, as often as the rate limit counts
it."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple
from unittest.mock import patch

from api.http.rate_limits import RateLimiter
from tests.sql_statements import counted_rows, counted_statements

MAX_STATEMENTS = 25
MAX_ROWS = 120
"""Rows that may be read for a request, as often as the rate limit counts it: a page of places and some more, fewer than
there are teams in the tests."""


class Cost(NamedTuple):
    """The statements of a request, the rows that they read, and as how many requests the rate limit counts it."""

    statements: int
    rows: int
    requests: int

    @property
    def is_dear(self) -> bool:
        """Whether it takes more than it counts."""
        return self.statements > MAX_STATEMENTS * self.requests or self.rows > MAX_ROWS * self.requests


@contextmanager
def measured_cost() -> Iterator[list[Cost]]:
    """The cost of the one request that is made meanwhile: its only element, at the end."""
    costs: list[Cost] = []
    counted: list[int] = []

    def hit(_: RateLimiter, name: str, *__: object, cost: int = 1) -> None:
        counted.append(cost * (name == "request"))

    with counted_statements() as taken, counted_rows() as rows, patch.object(RateLimiter, "hit", hit):
        yield costs
    costs.append(Cost(len(taken), sum(rows), max(1, sum(counted))))
