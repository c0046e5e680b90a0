"""The HTTP status of every kind of error, and the response cache."""

import pytest

from api.http.problem_details import status_of
from api.http.response_cache import ResponseCache
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


def test_what_was_asked_for_last_stays() -> None:
    shelf = ResponseCache(capacity=10)
    for name in "abc":
        assert shelf.keep(name, name.encode() * 3) == name.encode() * 3
    assert shelf.find("a") == b"aaa"
    shelf.keep("d", b"dddd")
    assert (shelf.find("b"), shelf.find("a"), shelf.find("d")) == (None, b"aaa", b"dddd")


def test_the_same_answer_again_takes_no_more_room() -> None:
    shelf = ResponseCache(capacity=10)
    shelf.keep("a", b"12345")
    for _ in range(9):
        shelf.keep("b", b"12345")
    assert shelf.find("a") == b"12345"


def test_what_is_too_large_is_returned_and_not_cached() -> None:
    shelf = ResponseCache(capacity=10)
    shelf.keep("a", b"12345")
    assert shelf.keep("b", b"x" * 11) == b"x" * 11
    assert (shelf.find("b"), shelf.find("a")) == (None, b"12345")
