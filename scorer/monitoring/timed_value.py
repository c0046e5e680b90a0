"""A value that is read again only after some seconds: for what is asked for often and costs a query each time."""

import time
from collections.abc import Callable
from threading import Lock
from typing import Generic, TypeVar

T = TypeVar("T")


class TimedValue(Generic[T]):
    """What ``read`` returned at most ``seconds`` ago. Threads that ask at once share one reading. ``clock`` is
    monotonic, in seconds."""

    def __init__(self, read: Callable[[], T], seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._read = read
        self._seconds = seconds
        self._clock = clock
        self._lock = Lock()
        self._kept: tuple[float, T] | None = None

    def get(self) -> T:
        """The value, which is read first if it is too old. Raises what ``read`` raises, and then keeps nothing."""
        with self._lock:
            if self._kept is None or self._clock() - self._kept[0] >= self._seconds:
                self._kept = None
                value = self._read()
                self._kept = (self._clock(), value)  # after the reading, which may take longer than it is kept
            return self._kept[1]
