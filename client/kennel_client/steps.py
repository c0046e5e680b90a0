"""Operations as generators of steps: the synchronous and the asynchronous client take the same steps, each in its way.

An operation yields what is to be done next, gets the outcome or the error, and returns its result.
"""

from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from kennel_client.errors import KennelError, Refused, Unreachable
from kennel_client.retries import MAX_REQUEST_RETRIES, Retries, is_repeatable

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
    """Send a request, again where that is safe (:func:`kennel_client.retries.is_repeatable`), and return the answer."""
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
