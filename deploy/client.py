"""A small client of Kennel's API, for the command line and the demo."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, Self

import httpx

CHUNK = 1 << 20
TIMEOUT = httpx.Timeout(30.0, write=600.0, read=600.0)


class Refused(Exception):
    """The service answered with a problem; the message is meant for the person at the terminal."""

    def __init__(self, status: int, problem: dict[str, Any]) -> None:
        faults = "".join(f"\n  - {fault}" for fault in problem.get("faults", ()))
        super().__init__(f"{problem.get('title', 'The service refused this.')}{faults}")
        self.status, self.problem = status, problem


class Client:
    """Calls ``/api/v1`` of the service at ``url`` with an API token."""

    def __init__(self, url: str, token: str | None = None) -> None:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._http = httpx.Client(base_url=f"{url.rstrip('/')}/api/v1", headers=headers, timeout=TIMEOUT)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let the connections go."""
        self._http.close()

    def call(self, method: str, path: str, **options: Any) -> Any:
        """One request; its JSON, or ``Refused``."""
        return self.send(method, path, **options).json()

    def send(self, method: str, path: str, **options: Any) -> httpx.Response:
        """One request; its answer, or ``Refused`` (with status 0 if there is none)."""
        try:
            response = self._http.request(method, path, **options)
        except httpx.TransportError as error:
            raise Refused(0, {"title": f"No answer from {self._http.base_url}: {error}."}) from None
        if response.is_success:
            return response
        raise Refused(response.status_code, _problem(response))

    def get(self, path: str, **params: Any) -> Any:
        """Read something."""
        return self.call("GET", path, params=params)

    def post(self, path: str, body: Any = None) -> Any:
        """Make something."""
        return self.call("POST", path, json=body)

    def put(self, path: str, body: Any) -> Any:
        """Set something."""
        return self.call("PUT", path, json=body)

    def submit(self, slug: str, zip_file: BinaryIO, *, file_name: str, **params: str) -> Any:
        """Upload an entry; answers as soon as it was accepted."""
        return self.upload("POST", f"/competitions/{slug}/submissions", zip_file, file_name=file_name, **params)

    def attach_references(self, slug: str, role: str, zip_file: BinaryIO) -> Any:
        """Upload reference images."""
        return self.upload("PUT", f"/competitions/{slug}/references/{role}", zip_file)

    def upload(self, method: str, path: str, file: BinaryIO, *, media: str = "application/zip", **params: Any) -> Any:
        """Stream a file as the body of a request."""
        size = file.seek(0, os.SEEK_END)
        file.seek(0)
        headers = {"Content-Type": media, "Content-Length": str(size)}
        return self.call(method, path, params=params, headers=headers, content=_chunks(file))


def _chunks(file: BinaryIO) -> Iterator[bytes]:
    while chunk := file.read(CHUNK):
        yield chunk


def _problem(response: httpx.Response) -> dict[str, Any]:
    with contextlib.suppress(ValueError):
        body = response.json()
        if isinstance(body, dict):
            return body
    return {"title": f"The service answered {response.status_code}."}


def opened(path: Path) -> BinaryIO:
    """A file to upload; ``Refused`` in one sentence if it cannot be read."""
    try:
        return path.open("rb")
    except OSError as error:
        raise Refused(0, {"title": f"{path} cannot be read: {error.strerror}."}) from None
