"""Requests to Kennel's HTTP API: errors, file uploads, and operations step by step."""

import contextlib
import os
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Self
from urllib.parse import quote

from kennel_client.downloads import ArrivingFile
from kennel_client.errors import Refused, Unreachable, Unreadable
from kennel_client.steps import (
    STEP_ERRORS,
    Download,
    Listen,
    LocalWork,
    Operation,
    Pause,
    Request,
    Result,
    Step,
    StoreRequest,
    Timeout,
    all_pages,
    answer_to,
    call,
    parse_json,
)

if TYPE_CHECKING:
    import httpx

CHUNK_BYTES = 1 << 20
OTHERS_TITLES = {
    413: "A proxy in front of the service refuses requests of this size (413). Its operator can raise the limit."
}
"""Messages by status for responses that do not come from the service itself."""
TIMEOUT: Timeout = (30.0, 600.0, 600.0, 30.0)
DOWNLOAD_SILENCE_SECONDS = 45.0
"""A download has broken off if nothing arrives for this long."""


class ApiClient:
    def __init__(self, url: str, token: str | None = None) -> None:
        import httpx  # noqa: PLC0415 - slow to import, and what only explains itself needs none

        self.url = url.rstrip("/")
        with answers_required(self.url):
            self._http = httpx.Client(base_url=f"{self.url}/api/v1", headers=auth_headers(token), timeout=TIMEOUT)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._http.close()

    def run(self, operation: Operation[Result], *, sleep: Callable[[float], None] = time.sleep) -> Result:
        try:
            step = next(operation)
            while True:
                try:
                    outcome = self._take(step, sleep)
                except STEP_ERRORS as error:
                    step = operation.throw(error)
                else:
                    step = operation.send(outcome)
        except StopIteration as end:
            result: Result = end.value
            return result

    def _take(self, step: Step, sleep: Callable[[float], None]) -> Any:
        if isinstance(step, Pause):
            return sleep(step.seconds)
        if isinstance(step, LocalWork):
            return step.function()
        if isinstance(step, Download):
            return self._download(step)
        if isinstance(step, Listen):
            return self._listen(step)
        content = step.content() if step.content is not None else None
        if isinstance(step, StoreRequest):
            import httpx  # noqa: PLC0415

            with answers_required(self.url):
                return httpx.request(step.method, step.path, content=content, **step.options())
        return self.send_once(step.method, step.path, content=content, **step.options())

    def _download(self, step: Download) -> None:
        with (
            self.stream(step.path, headers={}, silence=DOWNLOAD_SILENCE_SECONDS) as answer,
            ArrivingFile(step.to, step.sha256) as file,
        ):
            for chunk in answer.iter_bytes():
                file.write(chunk)

    def _listen(self, step: Listen) -> int:
        with self.stream(step.path, headers=step.headers, silence=step.silence) as answer:
            any(step.read(line) for line in answer.iter_lines())
            return answer.status_code

    def call(self, method: str, path: str, **options: Any) -> Any:
        return parse_json(self.send(method, path, **options))

    def send(self, method: str, path: str, **options: Any) -> "httpx.Response":
        """Send a request, retry it where that is safe, and return the response. Raises ``Refused``, or ``Unreachable``
        without a response. ``options`` are those of :class:`kennel_client.steps.Request`.
        """
        return self.run(answer_to(Request(method, path, **options)))

    def send_once(self, method: str, path: str, **options: Any) -> "httpx.Response":
        with answers_required(self.url):
            return require_success(self._http.request(method, path, **options))

    @contextlib.contextmanager
    def stream(self, path: str, *, headers: Mapping[str, str], silence: float) -> Iterator["httpx.Response"]:
        """Stream a response. After a redirect to the service's store, the store gets no token. Raises
        ``Unreachable`` if the response breaks off or nothing arrives for ``silence`` seconds.
        """
        with (
            answers_required(self.url),
            self._http.stream("GET", path, **stream_options(headers, silence)) as response,
        ):
            if not response.is_success:
                response.read()
            yield require_success(response)

    def get(self, path: str, **params: Any) -> Any:
        return self.call("GET", path, params=params)

    def get_list(self, path: str, name: str, **params: Any) -> list[Any]:
        """GET all pages of a list; each page has its items in the field ``name``."""
        return self.run(all_pages(path, name, **params))

    def post(self, path: str, body: Any = None) -> Any:
        return self.call("POST", path, json=body)

    def put(self, path: str, body: Any) -> Any:
        return self.call("PUT", path, json=body)

    def submit(self, slug: str, zip_file: BinaryIO, *, file_name: str, **params: str) -> Any:
        """Upload an entry in one request; returns it as soon as it is accepted."""
        return self.upload("POST", f"/competitions/{slug}/submissions", zip_file, file_name=file_name, **params)

    def attach_references(self, slug: str, role: str, zip_file: BinaryIO) -> Any:
        return self.upload("PUT", f"/competitions/{slug}/references/{role}", zip_file)

    def upload(self, method: str, path: str, file: BinaryIO, *, media: str = "application/zip", **params: Any) -> Any:
        return self.run(send_file(method, path, file, media=media, params=params))


def send_file(
    method: str, path: str, file: BinaryIO, *, media: str = "application/zip", params: Mapping[str, Any] | None = None
) -> Operation[Any]:
    """Stream a file as the body of a request, and return the JSON of the response."""
    headers = {"Content-Type": media, "Content-Length": str(file.seek(0, os.SEEK_END))}
    return (yield from call(method, path, params=params, headers=headers, content=partial(_chunks, file)))


def _chunks(file: BinaryIO) -> Iterator[bytes]:
    file.seek(0)
    while chunk := file.read(CHUNK_BYTES):
        yield chunk


def auth_headers(token: str | None) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"} if token else {}


def stream_options(headers: Mapping[str, str], silence: float) -> dict[str, Any]:
    """Keyword arguments of ``httpx`` for a response read piece by piece, perhaps from the store to which the service
    redirects; each piece arrives within ``silence`` seconds.
    """
    return {"headers": headers, "timeout": (30.0, silence, 30.0, 30.0), "follow_redirects": True}


@contextlib.contextmanager
def answers_required(url: str) -> Iterator[None]:
    """Raise ``Unreachable`` for a connection that fails in the block, or an invalid address."""
    import httpx  # noqa: PLC0415

    try:
        yield
    except (httpx.TransportError, httpx.InvalidURL) as error:
        lasting = isinstance(error, httpx.UnsupportedProtocol | httpx.InvalidURL)
        raise Unreachable(f"No response from {url}: {str(error).removesuffix('.')}.", lasting=lasting) from None


def require_success(response: "httpx.Response") -> "httpx.Response":
    """Return the response; raise ``Refused`` if it is a problem."""
    if response.is_success:
        return response
    wait = response.headers.get("Retry-After", "")
    raise Refused(response.status_code, _problem(response), retry_after=int(wait) if wait.isdecimal() else None)


def _problem(response: "httpx.Response") -> dict[str, Any]:
    with contextlib.suppress(ValueError):
        body = response.json()
        if isinstance(body, dict):
            return body
    return {
        "title": OTHERS_TITLES.get(response.status_code, f"The service responded with status {response.status_code}.")
    }


def segment(name: str) -> str:
    """Percent-encode ``name`` as one segment of a path."""
    return quote(name, safe="")


def build_path(*names: str | int) -> str:
    """A path below ``/api/v1`` of these segments, percent-encoded."""
    return "".join(f"/{segment(str(name))}" for name in names)


def open_file(path: Path, *, may_be_pipe: bool = False) -> BinaryIO:
    """Open a file. Raises ``Unreadable`` if that fails, or for a pipe unless ``may_be_pipe``: checks and uploads in
    parts read a file in several places.
    """
    try:
        file = path.open("rb")
    except OSError as error:
        raise Unreadable(f"{path} cannot be read: {error.strerror}.") from None
    if not may_be_pipe and not file.seekable():
        file.close()
        raise Unreadable(f"{path} is a pipe: save its content as a file first.")
    return file
