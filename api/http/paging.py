"""Pagination of lists: ``after`` is the ``next_after`` of the previous page, ``limit`` the maximum number of rows."""

from collections.abc import Callable, Sequence
from typing import Annotated, Generic, NamedTuple, TypeVar

from fastapi import Depends, Query

Row = TypeVar("Row")
MAX_ROWS = 200


After = Annotated[int | None, Query(ge=1, le=2**62)]
"""The number of the row before the page, in a list with the newest first; None for the first page."""


class RowsPage(NamedTuple, Generic[Row]):
    """``next_after`` is the ``after`` of the next page, None at the end."""

    rows: Sequence[Row]
    next_after: int | None


class PageRequest(NamedTuple):
    after: int | None
    limit: int

    @property
    def one_more(self) -> int:
        """The number of rows to read: one more than the limit shows whether another page follows."""
        return self.limit + 1

    def slice_all(self, rows: Sequence[Row]) -> RowsPage[Row]:
        """A page of a complete list: ``after`` is a position."""
        begin = self.after or 0
        end = begin + self.limit
        return RowsPage(rows[begin:end], end if end < len(rows) else None)

    def slice_following(self, rows: Sequence[Row], get_number: Callable[[Row], int]) -> RowsPage[Row]:
        """A page from up to ``one_more`` rows after the previous page: ``after`` is the number of a row."""
        page = rows[: self.limit]
        return RowsPage(page, get_number(page[-1]) if len(rows) > self.limit else None)


def page_request(
    after: Annotated[int | None, Query(ge=0, le=2**62)] = None,
    limit: Annotated[int, Query(ge=1, le=MAX_ROWS)] = 50,
) -> PageRequest:
    return PageRequest(after or None, limit)


Paging = Annotated[PageRequest, Depends(page_request)]
