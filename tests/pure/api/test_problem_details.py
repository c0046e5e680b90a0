"""The HTTP status of every kind of error."""

import pytest

from api.http.problem_details import status_of
from scorer.errors import Conflict, KennelError, NotFound, TooMany


class AlreadyRated(Conflict):
    """A kind of conflict that the table of statuses does not name."""


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (NotFound("no-entry", "There is none."), 404),
        (TooMany("rate-limit", "Please wait."), 429),
        (AlreadyRated("rated", "You have rated it."), 409),
    ],
)
def test_an_error_has_the_status_of_its_nearest_kind(error: KennelError, status: int) -> None:
    assert status_of(error) == status
