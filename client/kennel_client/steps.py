"""Operations as generators of steps: the synchronous and the asynchronous client take the same steps, each in its way.

An operation yields what is to be done next, gets the outcome or the error, and returns its result.
"""

from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import httpx

from kennel_client.errors import KennelError, Refused, Unreachable

Result = TypeVar("Result")
STEP_ERRORS = (Refused, KennelError, OSError)
"""Errors of a step that are the operation's to handle."""


@dataclass(frozen=True)
class Request:
    """A request to ``/api/v1``; its outcome is the ``httpx.Response``, its error ``Refused``."""

    method: str
    path: str
    params: Mapping[str, Any] | None = None
    json: Any = None
    headers: Mapping[str, str] | None = None
    content: Callable[[], Iterator[bytes]] | None = None
    timeout: httpx.Timeout | None = None

    def options(self) -> dict[str, Any]:
        """The keyword arguments of ``httpx`` but for the content."""
        given = {"params": self.params, "json": self.json, "headers": self.headers, "timeout": self.timeout}
        return {name: value for name, value in given.items() if value is not None}


@dataclass(frozen=True)
class StoreRequest(Request):
    """A request to a presigned URL of the service's store, which gets no token; whatever it answers is the outcome."""


@dataclass(frozen=True)
class Pause:
    """A wait of so many seconds."""

    seconds: float


@dataclass(frozen=True)
class LocalWork:
    """A function that reads files or computes; its outcome is what it returns."""

    function: Callable[[], Any]


Step = Request | Pause | LocalWork
Operation = Generator[Step, Any, Result]


def call(method: str, path: str, **options: Any) -> Operation[Any]:
    """Send a request, and return the JSON of the answer."""
    response = yield Request(method, path, **options)
    return json_of(response)


def get(path: str, **params: Any) -> Operation[Any]:
    """GET ``path`` with query parameters."""
    return (yield from call("GET", path, params=params))


def json_of(response: httpx.Response) -> Any:
    """The JSON of an answer; ``Unreachable`` if it is none."""
    try:
        return response.json()
    except ValueError:
        raise Unreachable(f"What answers at {response.url.host} is not Kennel.") from None
