"""A client of Kennel's HTTP API: requests, errors, file uploads."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, Self
from urllib.parse import quote

import httpx

CHUNK_BYTES = 1 << 20
TIMEOUT = httpx.Timeout(30.0, write=600.0, read=600.0)


class Refused(Exception):
    """The service answered with a problem (RFC 9457); the message is meant for the user."""

    def __init__(self, status: int, problem: dict[str, Any], *, retry_after: int | None = None) -> None:
        faults = "".join(f"\n  - {fault}" for fault in problem.get("faults", ()))
        super().__init__(f"{problem.get('title', 'The service refused this.')}{faults}")
        self.status = status
        self.problem = problem
        self.retry_after = retry_after

    @property
    def slug(self) -> str:
        """The problem's slug; empty if there is none."""
        return str(self.problem.get("type", "")).rpartition(":")[2]


class Unreachable(Refused):
    """The service did not answer, or what answered is not Kennel."""

    def __init__(self, title: str) -> None:
        super().__init__(0, {"type": "urn:kennel:problem:no-answer", "title": title})


class Unreadable(Refused):
    """A local file that is missing, unreadable or of a wrong format."""

    def __init__(self, title: str) -> None:
        super().__init__(0, {"type": "urn:kennel:problem:unreadable", "title": title})


class Client:
    """Calls ``/api/v1`` of the service at ``url`` with an API token."""

    def __init__(self, url: str, token: str | None = None) -> None:
        self.url = url.rstrip("/")
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._http = httpx.Client(base_url=f"{self.url}/api/v1", headers=headers, timeout=TIMEOUT)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def call(self, method: str, path: str, **options: Any) -> Any:
        """Send a request and return the JSON of the answer; raises ``Refused``."""
        response = self.send(method, path, **options)
        try:
            return response.json()
        except ValueError:
            raise Unreachable(f"What answers at {self.url} is not Kennel.") from None

    def send(self, method: str, path: str, **options: Any) -> httpx.Response:
        """Send a request and return the answer; raises ``Refused`` (``Unreachable`` if there is no answer)."""
        with self._require_connection():
            return _require_success(self._http.request(method, path, **options))

    @contextlib.contextmanager
    def stream(self, path: str, *, headers: dict[str, str], silence: float) -> Iterator[httpx.Response]:
        """A streamed answer; ``Unreachable`` if it breaks off or nothing arrives for ``silence`` seconds."""
        timeout = httpx.Timeout(30.0, read=silence)
        with self._require_connection(), self._http.stream("GET", path, headers=headers, timeout=timeout) as response:
            if not response.is_success:
                response.read()
            yield _require_success(response)

    @contextlib.contextmanager
    def _require_connection(self) -> Iterator[None]:
        try:
            yield
        except (httpx.TransportError, httpx.InvalidURL) as error:
            raise Unreachable(f"No answer from {self._http.base_url}: {error}.") from None

    def get(self, path: str, **params: Any) -> Any:
        """GET ``path`` with query parameters."""
        return self.call("GET", path, params=params)

    def post(self, path: str, body: Any = None) -> Any:
        """POST a JSON body to ``path``."""
        return self.call("POST", path, json=body)

    def put(self, path: str, body: Any) -> Any:
        """PUT a JSON body to ``path``."""
        return self.call("PUT", path, json=body)

    def submit(self, slug: str, zip_file: BinaryIO, *, file_name: str, **params: str) -> Any:
        """Upload an entry in one request; returns it as soon as it is accepted."""
        return self.upload("POST", f"/competitions/{slug}/submissions", zip_file, file_name=file_name, **params)

    def attach_references(self, slug: str, role: str, zip_file: BinaryIO, *, attach: bool = True) -> Any:
        """Upload the reference images of a role; without ``attach`` they are only stored."""
        return self.upload("PUT", f"/competitions/{slug}/references/{role}", zip_file, attach=str(attach).lower())

    def upload(self, method: str, path: str, file: BinaryIO, *, media: str = "application/zip", **params: Any) -> Any:
        """Stream a file as the body of a request."""
        size = file.seek(0, os.SEEK_END)
        file.seek(0)
        headers = {"Content-Type": media, "Content-Length": str(size)}
        return self.call(method, path, params=params, headers=headers, content=_chunks(file))


def _chunks(file: BinaryIO) -> Iterator[bytes]:
    while chunk := file.read(CHUNK_BYTES):
        yield chunk


def _require_success(response: httpx.Response) -> httpx.Response:
    if response.is_success:
        return response
    wait = response.headers.get("Retry-After", "")
    raise Refused(response.status_code, _problem(response), retry_after=int(wait) if wait.isdecimal() else None)


def _problem(response: httpx.Response) -> dict[str, Any]:
    with contextlib.suppress(ValueError):
        body = response.json()
        if isinstance(body, dict):
            return body
    return {"title": f"The service answered {response.status_code}."}


def segment(name: str) -> str:
    """``name`` percent-encoded as one segment of a path."""
    return quote(name, safe="")


def open_file(path: Path) -> BinaryIO:
    """Open a file to upload; ``Unreadable`` if that fails."""
    try:
        return path.open("rb")
    except OSError as error:
        raise Unreadable(f"{path} cannot be read: {error.strerror}.") from None
