"""Streaming of a query's rows, so that a release of a million entries needs little memory."""

from collections.abc import Callable, Iterator
from itertools import starmap
from typing import TypeVar

from sqlalchemy import Executable
from sqlalchemy.orm import Session

RowT = TypeVar("RowT")

BATCH_ROWS = 5_000
"""Rows fetched at a time."""


def stream_rows(session: Session, query: Executable, row: Callable[..., RowT]) -> Iterator[RowT]:
    """The rows of a query, each made by ``row`` of its columns in order."""
    return starmap(row, session.execute(query, execution_options={"yield_per": BATCH_ROWS}))
