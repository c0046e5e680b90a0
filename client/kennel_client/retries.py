"""Whether and when to try again after an error, so that clients which have lost a service do not return all at once."""

import random
from collections.abc import Callable

from kennel_client.errors import Refused, Unreachable

RETRY_SECONDS = (0.5, 1, 2, 4, 8, 15, 30)
"""The longest pause before each retry; the sequence starts over whenever there was progress."""
MAX_TRIES = 20
"""Tries in a row without progress after which an operation is given up: some five minutes."""
MAX_REQUEST_RETRIES = 3
"""Retries of a single request, which somebody may be waiting for: three and a half seconds without an answer."""
MAX_WAIT_SECONDS = 60
"""A single request that the service wants to see later than this is given up."""
TRANSIENT_SLUGS = frozenset(
    {"past-boards-busy", "taken-over", "too-many-streams", "too-often", "too-slow", "wrong-offset"}
)
IDEMPOTENT = frozenset({"GET", "HEAD", "PUT"})
"""Methods that may be sent twice. DELETE is none of them: the second one would say that nothing is there."""
AMBIGUOUS_SLUG = "database-unavailable"
"""The connection to the database was lost, perhaps after the change had been kept."""


class Retries:
    """Counts the tries of one operation since its last progress: after ``limit`` of them it is given up. ``draw``
    returns a number from 0 to 1."""

    def __init__(self, draw: Callable[[], float] = random.random, *, limit: int = MAX_TRIES) -> None:
        self._draw = draw
        self._limit = limit
        self._tries = 0

    def reset(self) -> None:
        """There was progress."""
        self._tries = 0

    def seconds_after(self, refusal: Refused) -> float:
        """The pause before the next try: a random one between the half and the whole of its longest, at least as long
        as the service has asked for. Raises ``refusal`` if a retry cannot help, or there were too many."""
        self._tries += 1
        if self._tries > self._limit or not is_transient(refusal):
            raise refusal
        longest = RETRY_SECONDS[min(self._tries, len(RETRY_SECONDS)) - 1]
        return max(longest * (1 + self._draw()) / 2, refusal.retry_after or 0)


def is_transient(refusal: Refused) -> bool:
    """Whether a retry may help. A 408 or 429 without a slug is a proxy's."""
    if isinstance(refusal, Unreachable):
        return not refusal.lasting
    from_proxy = refusal.status in {408, 429} and not refusal.slug
    return refusal.status >= 500 or refusal.slug in TRANSIENT_SLUGS or from_proxy


def is_repeatable(method: str, refusal: Refused, *, keyed: bool = False, streamed: bool = False) -> bool:
    """Whether a single request may be sent again: what it asks for is done once, and a retry may help.

    That holds where the service has put it off (429 or 503 with Retry-After), and for idempotent methods also where no
    answer came or a proxy got none (502, 503, 504). A request is ``keyed`` by an Idempotency-Key; one whose body is
    ``streamed`` from a file has counted as an upload if it arrived.
    """
    if not is_transient(refusal) or (refusal.retry_after or 0) > MAX_WAIT_SECONDS:
        return False
    idempotent = keyed or (method in IDEMPOTENT and not streamed)
    put_off = refusal.status in {429, 503} and refusal.retry_after is not None
    if put_off and (idempotent or refusal.slug != AMBIGUOUS_SLUG):
        return True
    return idempotent and (isinstance(refusal, Unreachable) or refusal.status in {502, 503, 504})
