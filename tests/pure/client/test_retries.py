"""When a client tries again: with jitter, and not for ever."""

import pytest

from kennel_client.errors import Refused, Unreachable
from kennel_client.retries import MAX_TRIES, RETRY_SECONDS, Retries

GONE = Unreachable("Gone.")


def test_pauses_grow_up_to_their_longest_and_start_over_after_progress() -> None:
    retries = Retries(lambda: 1.0)
    assert [retries.seconds_after(GONE) for _ in range(9)] == [*RETRY_SECONDS, 30, 30]
    retries.reset()
    assert retries.seconds_after(GONE) == RETRY_SECONDS[0]


def test_two_clients_that_lost_a_service_do_not_come_back_together() -> None:
    first, second = Retries(), Retries()
    assert [first.seconds_after(GONE) for _ in range(9)] != [second.seconds_after(GONE) for _ in range(9)]
    early = Retries(lambda: 0.0)
    assert [early.seconds_after(GONE) for _ in RETRY_SECONDS] == [longest / 2 for longest in RETRY_SECONDS]


def test_what_the_service_asks_for_is_waited() -> None:
    busy = Refused(429, {"type": "urn:kennel:problem:too-often"}, retry_after=17)
    assert Retries().seconds_after(busy) == 17


@pytest.mark.parametrize(
    "refusal",
    [Refused(409, {"type": "urn:kennel:problem:closed"}), Refused(404, {}), Refused(429, {"type": "x:daily"})],
)
def test_what_a_retry_cannot_cure_is_raised(refusal: Refused) -> None:
    with pytest.raises(Refused) as caught:
        Retries().seconds_after(refusal)
    assert caught.value is refusal


def test_a_service_that_stays_away_is_given_up() -> None:
    retries = Retries()
    for _ in range(MAX_TRIES):
        retries.seconds_after(Refused(503, {}))
    with pytest.raises(Refused):
        retries.seconds_after(Refused(503, {}))
