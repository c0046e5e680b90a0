"""A circuit breaker: after a failure, callers skip a server for a while instead of waiting for it each time."""

import time
from collections.abc import Callable

PAUSE_SECONDS = 5.0


class CircuitBreaker:
    """Open for ``pause`` seconds after the last failure. ``clock`` is monotonic, in seconds."""

    def __init__(self, pause: float = PAUSE_SECONDS, clock: Callable[[], float] = time.monotonic) -> None:
        self._pause = pause
        self._clock = clock
        self._open_until = -float("inf")

    @property
    def is_open(self) -> bool:
        return self._clock() < self._open_until

    def trip(self) -> None:
        self._open_until = self._clock() + self._pause
