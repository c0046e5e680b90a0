"""The paging of lists, newest first: ``after`` is the ``next_after`` of the page before."""

from typing import Annotated

from fastapi import Depends, Query


def older_than(
    after: Annotated[int | None, Query(ge=1, le=2**62)] = None,
    before: Annotated[
        int | None, Query(ge=1, le=2**62, deprecated=True, description="The former name of `after`.")
    ] = None,
) -> int | None:
    """The number of the row that the page follows, of which there are only older ones; None for the first page."""
    return before if after is None else after


OlderThan = Annotated[int | None, Depends(older_than)]
