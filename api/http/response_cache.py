"""An LRU cache of rendered response bodies by ETag. The ETag covers everything that a body depends on."""

from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock

from sqlalchemy.orm import Session

from scorer.db.session import end_reading

CAPACITY_BYTES = 64 << 20
MAX_BODY_BYTES = CAPACITY_BYTES // 4


class ResponseCache:
    """The most recently used bodies, up to ``capacity`` bytes; thread-safe."""

    def __init__(self, capacity: int = CAPACITY_BYTES) -> None:
        self._capacity = capacity
        self._used_bytes = 0
        self._lock = Lock()
        self._bodies: OrderedDict[str, bytes] = OrderedDict()
        self._locks: dict[str, tuple[Lock, int]] = {}

    def answer(self, session: Session, etag: str, make: Callable[[], bytes]) -> bytes:
        """The body with an ETag. Only one thread makes a missing body. The other threads wait for it and first release
        the connection of their ``session``, because the working thread may need it."""
        body = self.find(etag)
        if body is not None:
            return body
        if not end_reading(session):
            return make()
        with self._lock_for(etag):
            body = self.find(etag)
            return body if body is not None else self.keep(etag, make())

    def stream(self, etag: str, make: Callable[[], Iterator[bytes]]) -> Iterator[bytes]:
        """The body with an ETag, in pieces. A missing body is stored after its last piece is sent."""
        body = self.find(etag)
        if body is not None:
            yield body
            return
        pieces: list[bytes] = []
        size = 0
        for piece in make():
            size += len(piece)
            if size <= MAX_BODY_BYTES:
                pieces.append(piece)
            else:  # too large to be stored
                pieces.clear()
            yield piece
        if pieces:
            self.keep(etag, b"".join(pieces))

    @contextmanager
    def _lock_for(self, etag: str) -> Iterator[None]:
        with self._lock:
            lock, users = self._locks.get(etag, (Lock(), 0))
            self._locks[etag] = lock, users + 1
        try:
            with lock:
                yield
        finally:
            with self._lock:
                _, users = self._locks[etag]
                self._locks[etag] = lock, users - 1
                if users == 1:
                    del self._locks[etag]

    def find(self, etag: str) -> bytes | None:
        with self._lock:
            if etag in self._bodies:
                self._bodies.move_to_end(etag)
            return self._bodies.get(etag)

    def keep(self, etag: str, body: bytes) -> bytes:
        """Store a body unless it is too large, and return it. The least recently used bodies are dropped."""
        if len(body) > min(MAX_BODY_BYTES, self._capacity):
            return body
        with self._lock:
            self._used_bytes += len(body) - len(self._bodies.pop(etag, b""))
            self._bodies[etag] = body
            while self._used_bytes > self._capacity:
                self._used_bytes -= len(self._bodies.popitem(last=False)[1])
        return body
