"""Answers that are kept as they left, found again by their ETag: whatever they depend on is in that."""

from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock

CAPACITY_BYTES = 64 << 20
"""Bytes."""
MAX_BODY_BYTES = CAPACITY_BYTES // 4


class ResponseCache:
    """The bodies that were asked for last; may be used by many threads."""

    def __init__(self, capacity: int = CAPACITY_BYTES) -> None:
        self._capacity = capacity
        self._held = 0
        self._lock = Lock()
        self._bodies: OrderedDict[str, bytes] = OrderedDict()
        self._turns: dict[str, tuple[Lock, int]] = {}

    def answer(self, etag: str, make: Callable[[], bytes]) -> bytes:
        """The body under an ETag. If it is not there it is made, once: whoever asks for it meanwhile waits for it."""
        found = self.find(etag)
        if found is not None:
            return found
        with self._turn(etag):
            found = self.find(etag)
            return found if found is not None else self.keep(etag, make())

    @contextmanager
    def _turn(self, etag: str) -> Iterator[None]:
        with self._lock:
            turn, waiting = self._turns.get(etag, (Lock(), 0))
            self._turns[etag] = turn, waiting + 1
        try:
            with turn:
                yield
        finally:
            with self._lock:
                _, waiting = self._turns[etag]
                self._turns[etag] = turn, waiting - 1
                if waiting == 1:
                    del self._turns[etag]

    def find(self, etag: str) -> bytes | None:
        """The body under an ETag, if it is still there."""
        with self._lock:
            if etag in self._bodies:
                self._bodies.move_to_end(etag)
            return self._bodies.get(etag)

    def keep(self, etag: str, body: bytes) -> bytes:
        """Put a body there and hand it on; the ones that nobody has asked for longest make room. One that is too large
        is not kept."""
        if len(body) > min(MAX_BODY_BYTES, self._capacity):
            return body
        with self._lock:
            self._held += len(body) - len(self._bodies.pop(etag, b""))
            self._bodies[etag] = body
            while self._held > self._capacity:
                self._held -= len(self._bodies.popitem(last=False)[1])
        return body
