"""Whether and when to try again after an error, so that clients which have lost a service do not return all at once."""

import random
from collections.abc import Callable

from kennel_client.errors import Refused, Unreachable

RETRY_SECONDS = (0.5, 1, 2, 4, 8, 15, 30)
"""The longest pause before each retry; the sequence starts over whenever there was progress."""
MAX_TRIES = 20
"""Tries in a row without progress after which an operation is given up: some five minutes."""
TRANSIENT_SLUGS = frozenset({"too-often", "too-slow", "wrong-offset", "taken-over", "too-many-streams"})


class Retries:
    """Counts the tries of one operation since its last progress. ``draw`` returns a number from 0 to 1."""

    def __init__(self, draw: Callable[[], float] = random.random) -> None:
        self._draw = draw
        self._tries = 0

    def reset(self) -> None:
        """There was progress."""
        self._tries = 0

    def seconds_after(self, refusal: Refused) -> float:
        """The pause before the next try: a random one between the half and the whole of its longest, at least as long
        as the service has asked for. Raises ``refusal`` if a retry cannot help, or there were too many."""
        self._tries += 1
        if self._tries > MAX_TRIES or not is_transient(refusal):
            raise refusal
        longest = RETRY_SECONDS[min(self._tries, len(RETRY_SECONDS)) - 1]
        return max(longest * (1 + self._draw()) / 2, refusal.retry_after or 0)


def is_transient(refusal: Refused) -> bool:
    """Whether a retry may help."""
    return isinstance(refusal, Unreachable) or refusal.status >= 500 or refusal.slug in TRANSIENT_SLUGS
