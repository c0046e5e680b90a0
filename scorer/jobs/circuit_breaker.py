"""A circuit breaker: a server that has failed is left alone for a while, instead of waited for each time."""

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
        """Whether the server is not to be asked now."""
        return self._clock() < self._open_until

    def trip(self) -> None:
        """The server has failed or not answered in time."""
        self._open_until = self._clock() + self._pause
