"""Operations as generators of steps, so that the synchronous and the asynchronous client can share them.

An operation yields the next step, gets its result or error, and returns the operation's result. After an error it
decides whether and when to retry; pauses are random, so that clients don't all return at the same time after an outage.
"""

import random
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from kennel_client.errors import KennelError, Refused, Unreachable

RETRY_SECONDS = (0.5, 1, 2, 4, 8, 15, 30)
"""The longest pause before each retry; progress restarts the sequence."""
MAX_TRIES = 20
"""An operation fails after this many tries in a row without progress, about five minutes."""
MAX_REQUEST_RETRIES = 3
"""Retries of a single request, for which somebody may be waiting: 3.5 seconds without a response."""
MAX_WAIT_SECONDS = 60
"""A single request fails if the service asks for a longer wait."""
TRANSIENT_SLUGS = frozenset(
    {"past-boards-busy", "taken-over", "too-many-streams", "too-often", "too-slow", "wrong-offset"}
)
IDEMPOTENT = frozenset({"GET", "HEAD", "PUT"})
"""Methods that may be sent twice. DELETE is not among them: the second one would answer 404."""
AMBIGUOUS_SLUG = "database-unavailable"
"""The connection to the database was lost, perhaps after the change was stored."""


class Retries:
    """Counts the tries since the last progress; fails after ``limit``. ``draw`` returns a number from 0 to 1."""

    def __init__(self, draw: Callable[[], float] = random.random, *, limit: int = MAX_TRIES) -> None:
        self._draw = draw
        self._limit = limit
        self._tries = 0

    def reset(self) -> None:
        self._tries = 0

    def seconds_after(self, refusal: Refused) -> float:
        """The pause before the next try: random, between half and all of its longest, and at least the time that the
        service asked for. Raises ``refusal`` if a retry cannot help, or after too many tries.
        """
        self._tries += 1
        if self._tries > self._limit or not is_transient(refusal):
            raise refusal
        longest = RETRY_SECONDS[min(self._tries, len(RETRY_SECONDS)) - 1]
        return max(longest * (1 + self._draw()) / 2, refusal.retry_after or 0)


def is_transient(refusal: Refused) -> bool:
    """Whether a retry may help. A 408 or 429 without a slug comes from a proxy."""
    if isinstance(refusal, Unreachable):
        return not refusal.lasting
    from_proxy = refusal.status in {408, 429} and not refusal.slug
    return refusal.status >= 500 or refusal.slug in TRANSIENT_SLUGS or from_proxy


def is_repeatable(method: str, refusal: Refused, *, keyed: bool = False, streamed: bool = False) -> bool:
    """Whether a single request can be sent again without being executed twice, and a retry may help.

    True if the service postponed it (429 or 503 with Retry-After). For idempotent methods also if there was no
    response, or a proxy got none (502, 503, 504). A ``keyed`` request has an Idempotency-Key. A request with a body
    ``streamed`` from a file counts as an upload once it arrives.
    """
    if not is_transient(refusal) or (refusal.retry_after or 0) > MAX_WAIT_SECONDS:
        return False
    idempotent = keyed or (method in IDEMPOTENT and not streamed)
    put_off = refusal.status in {429, 503} and refusal.retry_after is not None
    if put_off and (idempotent or refusal.slug != AMBIGUOUS_SLUG):
        return True
    return idempotent and (isinstance(refusal, Unreachable) or refusal.status in {502, 503, 504})


if TYPE_CHECKING:
    import httpx

Result = TypeVar("Result")
STEP_ERRORS = (Refused, KennelError, OSError)
"""Errors of a step that the operation handles."""
Timeout = tuple[float, float, float, float]
"""Seconds to connect, for each read and write, and for a free connection."""


@dataclass(frozen=True)
class Request:
    """A request to ``/api/v1``; yields the ``httpx.Response``, or raises ``Refused``."""

    method: str
    path: str
    params: Mapping[str, Any] | None = None
    json: Any = None
    headers: Mapping[str, str] | None = None
    content: Callable[[], Iterator[bytes]] | None = None
    timeout: Timeout | None = None

    def options(self) -> dict[str, Any]:
        """The keyword arguments of ``httpx``, except the content."""
        given = {"params": self.params, "json": self.json, "headers": self.headers, "timeout": self.timeout}
        return {name: value for name, value in given.items() if value is not None}


@dataclass(frozen=True)
class StoreRequest(Request):
    """A request to a presigned URL of the service's store, without a token; yields any response."""


@dataclass(frozen=True)
class Download:
    """A GET that writes the response to the file ``to``, and checks its SHA-256 (hex) if that is known."""

    path: str
    to: Path
    sha256: str | None = None


@dataclass(frozen=True)
class Listen:
    """A GET that reads the response line by line, until ``read`` returns True; yields the status."""

    path: str
    headers: Mapping[str, str]
    read: Callable[[str], bool]
    silence: float
    """The response has broken off after this many seconds without a byte."""


@dataclass(frozen=True)
class Pause:
    seconds: float


@dataclass(frozen=True)
class LocalWork:
    """A function that reads files or computes; yields its return value."""

    function: Callable[[], Any]


Step = Request | Download | Listen | Pause | LocalWork
Operation = Generator[Step, Any, Result]


def answer_to(request: Request) -> Operation["httpx.Response"]:
    """Send a request, retry it where that is safe (:func:`is_repeatable`), and return the response."""
    retries = Retries(limit=MAX_REQUEST_RETRIES)
    keyed = "Idempotency-Key" in (request.headers or {})
    while True:
        try:
            answer: httpx.Response = yield request
        except Refused as refusal:
            if not is_repeatable(request.method, refusal, keyed=keyed, streamed=request.content is not None):
                raise
            yield Pause(retries.seconds_after(refusal))
        else:
            return answer


def call(method: str, path: str, **options: Any) -> Operation[Any]:
    return parse_json((yield from answer_to(Request(method, path, **options))))


def send(method: str, path: str, **options: Any) -> Operation[None]:
    yield from answer_to(Request(method, path, **options))


def get(path: str, **params: Any) -> Operation[Any]:
    """GET ``path`` with query parameters, without those that are None."""
    given = {name: value for name, value in params.items() if value is not None}
    return (yield from call("GET", path, params=given))


def all_pages(path: str, name: str, *, limit: int | None = None, **params: Any) -> Operation[list[Any]]:
    """All items of a list, or its first ``limit``; each page has them in the field ``name``."""
    page = yield from get(path, **params)
    items: list[Any] = page[name]
    while page["next_after"] is not None and (limit is None or len(items) < limit):
        page = yield from get(path, **params, after=page["next_after"])
        items += page[name]
    return items[:limit]


def parse_json(response: "httpx.Response") -> Any:
    """The JSON of a response; raises ``Unreachable`` if it is not JSON."""
    try:
        return response.json()
    except ValueError:
        raise Unreachable(f"The server at {response.url.host} is not Kennel.") from None
