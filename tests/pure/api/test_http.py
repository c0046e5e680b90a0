"""The HTTP status of every kind of error, and the response cache."""

import pytest

from api.http.problem_details import choose_status
from api.http.response_cache import ResponseCache
from scorer.errors import Conflict, KennelError, NotFound, TooMany


class AlreadyRated(Conflict):
    """A kind of conflict that is not in the table of statuses."""


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (NotFound("no-entry", "There is none."), 404),
        (TooMany("rate-limit", "Please wait."), 429),
        (AlreadyRated("rated", "You have rated it."), 409),
    ],
)
def test_an_error_has_the_status_of_its_nearest_kind(error: KennelError, status: int) -> None:
    assert choose_status(error) == status


def test_the_most_recently_used_responses_stay() -> None:
    cache = ResponseCache(capacity=10)
    for name in "abc":
        assert cache.keep(name, name.encode() * 3) == name.encode() * 3
    assert cache.find("a") == b"aaa"
    cache.keep("d", b"dddd")
    assert (cache.find("b"), cache.find("a"), cache.find("d")) == (None, b"aaa", b"dddd")


def test_caching_the_same_response_again_takes_no_more_space() -> None:
    cache = ResponseCache(capacity=10)
    cache.keep("a", b"12345")
    for _ in range(9):
        cache.keep("b", b"12345")
    assert cache.find("a") == b"12345"


def test_a_response_that_is_too_large_is_returned_and_not_cached() -> None:
    cache = ResponseCache(capacity=10)
    cache.keep("a", b"12345")
    assert cache.keep("b", b"x" * 11) == b"x" * 11
    assert (cache.find("b"), cache.find("a")) == (None, b"12345")
