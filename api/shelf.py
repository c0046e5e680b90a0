"""Answers that are kept as they left, found again by their ETag: whatever they depend on is in that."""

from collections import OrderedDict
from threading import Lock

CAPACITY = 64 << 20
"""Bytes."""
LARGEST = CAPACITY // 4


class Shelf:
    """The bodies that were asked for last; may be used by many threads."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._capacity, self._held, self._lock = capacity, 0, Lock()
        self._bodies: OrderedDict[str, bytes] = OrderedDict()

    def find(self, etag: str) -> bytes | None:
        """The body under an ETag, if it is still there."""
        with self._lock:
            if etag in self._bodies:
                self._bodies.move_to_end(etag)
            return self._bodies.get(etag)

    def keep(self, etag: str, body: bytes) -> bytes:
        """Put a body there and hand it on; the ones that nobody has asked for longest make room. One that is too large
        is not kept."""
        if len(body) > min(LARGEST, self._capacity):
            return body
        with self._lock:
            self._held += len(body) - len(self._bodies.pop(etag, b""))
            self._bodies[etag] = body
            while self._held > self._capacity:
                self._held -= len(self._bodies.popitem(last=False)[1])
        return body
