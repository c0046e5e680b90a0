"""Operations as generators of steps: the synchronous and the asynchronous client take the same steps, each in its way.

An operation yields what is to be done next, gets the outcome or the error, and returns its result. After an error it
says whether and when to try again, so that clients which have lost a service do not return all at the same time.
"""

import random
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from kennel_client.errors import KennelError, Refused, Unreachable

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


if TYPE_CHECKING:
    import httpx

Result = TypeVar("Result")
STEP_ERRORS = (Refused, KennelError, OSError)
"""Errors of a step that are the operation's to handle."""
Timeout = tuple[float, float, float, float]
"""Seconds to connect, for each read and write, and for a free connection."""


@dataclass(frozen=True)
class Request:
    """A request to ``/api/v1``; its outcome is the ``httpx.Response``, its error ``Refused``."""

    method: str
    path: str
    params: Mapping[str, Any] | None = None
    json: Any = None
    headers: Mapping[str, str] | None = None
    content: Callable[[], Iterator[bytes]] | None = None
    timeout: Timeout | None = None

    def options(self) -> dict[str, Any]:
        """The keyword arguments of ``httpx`` but for the content."""
        given = {"params": self.params, "json": self.json, "headers": self.headers, "timeout": self.timeout}
        return {name: value for name, value in given.items() if value is not None}


@dataclass(frozen=True)
class StoreRequest(Request):
    """A request to a presigned URL of the service's store, which gets no token; whatever it answers is the outcome."""


@dataclass(frozen=True)
class Download:
    """A GET whose answer is written to the file ``to``, and checked against its SHA-256 (hex) if that is known."""

    path: str
    to: Path
    sha256: str | None = None


@dataclass(frozen=True)
class Listen:
    """A GET whose answer arrives line by line, until ``read`` returns True for one; its outcome is the status."""

    path: str
    headers: Mapping[str, str]
    read: Callable[[str], bool]
    silence: float
    """Seconds without a byte after which the answer has broken off."""


@dataclass(frozen=True)
class Pause:
    """A wait of so many seconds."""

    seconds: float


@dataclass(frozen=True)
class LocalWork:
    """A function that reads files or computes; its outcome is what it returns."""

    function: Callable[[], Any]


Step = Request | Download | Listen | Pause | LocalWork
Operation = Generator[Step, Any, Result]


def answer_to(request: Request) -> Operation["httpx.Response"]:
    """Send a request, again where that is safe (:func:`kennel_client.steps.is_repeatable`), and return the answer."""
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
    """Send a request, and return the JSON of the answer."""
    return json_of((yield from answer_to(Request(method, path, **options))))


def send(method: str, path: str, **options: Any) -> Operation[None]:
    """Send a request whose answer says nothing."""
    yield from answer_to(Request(method, path, **options))


def get(path: str, **params: Any) -> Operation[Any]:
    """GET ``path`` with query parameters; those that are None are left out."""
    given = {name: value for name, value in params.items() if value is not None}
    return (yield from call("GET", path, params=given))


def all_pages(path: str, name: str, *, limit: int | None = None, **params: Any) -> Operation[list[Any]]:
    """A list of the service to its end, or its first ``limit`` items: ``name`` is their field in each page."""
    page = yield from get(path, **params)
    items: list[Any] = page[name]
    while page["next_after"] is not None and (limit is None or len(items) < limit):
        page = yield from get(path, **params, after=page["next_after"])
        items += page[name]
    return items[:limit]


def json_of(response: "httpx.Response") -> Any:
    """The JSON of an answer; ``Unreachable`` if it is none."""
    try:
        return response.json()
    except ValueError:
        raise Unreachable(f"What answers at {response.url.host} is not Kennel.") from None
