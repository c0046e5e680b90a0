"""Waiting for what the service works on."""

from collections.abc import Callable
from typing import TypeVar

from kennel_client.errors import Refused
from kennel_client.retries import Retries
from kennel_client.steps import Operation, Pause

POLL_SECONDS = 2.0
"""Between two looks."""
Seen = TypeVar("Seen")


def wait_until(
    finished: Callable[[Seen], bool], look: Callable[[], Operation[Seen]], *, every: float | None = None
) -> Operation[Seen]:
    """What ``look`` sees once it is ``finished``, however long that takes; a look that fails is repeated. Looks come
    ``every`` so many seconds, ``POLL_SECONDS`` by default."""
    retries = Retries()
    while True:
        try:
            seen = yield from look()
            retries.reset()
            if finished(seen):
                return seen
            yield Pause(POLL_SECONDS if every is None else every)
        except Refused as refusal:
            yield Pause(retries.seconds_after(refusal))
