"""Uploading so that a cut costs nothing: by tus, or straight into the service's store where it offers that."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

import httpx

from deploy.client.api import TIMEOUT, Client, Refused, Unreachable, segment

STALL_TIMEOUT = httpx.Timeout(30.0, read=90.0)
"""A line that is dead for so long will not come back; whoever waits for the answer asks once more."""
RETRY_SECONDS = (0.5, 1, 2, 4, 8, 15, 30)
"""Seconds before another try; they begin anew with every byte that arrived."""
CHUNK_BYTES = 1 << 18
"""Bytes between two looks at the progress."""
MAX_TRIES = 20
"""So many tries in a row that bring nothing, and it is given up: about six minutes."""
TRANSIENT_SLUGS = frozenset({"too-often", "too-slow", "wrong-offset", "taken-over", "too-many-streams"})
ByteProgress = Callable[[int, int], None]
"""Called with the bytes that have been sent and those of the whole file."""


@dataclass(frozen=True)
class PendingUpload:
    """What is to be handed in. ``key`` is the Idempotency-Key: whoever keeps it may begin again after a crash, and goes
    on with the same upload. ``sha256`` (hex) is checked by the service at the end."""

    slug: str
    file_name: str
    length: int
    key: str
    note: str = ""
    sha256: str | None = None

    def begin(self, client: Client) -> dict[str, Any]:
        """The upload, as the service has it: a new one, or the one begun under the same key."""
        body = {"length": self.length, "file_name": self.file_name, "note": self.note, "sha256": self.sha256}
        headers = {"Idempotency-Key": self.key}
        begun: dict[str, Any] = client.call(
            "POST", f"/competitions/{segment(self.slug)}/uploads", json=body, headers=headers
        )
        return begun


def upload_resumably(
    client: Client,
    promise: PendingUpload,
    file: BinaryIO,
    *,
    progress: ByteProgress = lambda _sent, _total: None,
    sleep: Callable[[float], None] = time.sleep,
) -> str:
    """Hand an entry in and answer with the id of the submission; ``Refused`` for what no repetition can cure."""
    path, reached, tries = "", 0, 0
    while True:
        try:
            view = client.get(path) if path else promise.begin(client)
            path = f"/uploads/{view['id']}"
            if view["offset"] > reached:
                reached, tries = view["offset"], 0
            submission = _step(client, path, view, file, progress)
            if submission is not None:
                progress(promise.length, promise.length)
                return submission
            sleep(RETRY_SECONDS[0])
        except Refused as refusal:
            tries += 1
            if tries > MAX_TRIES or not is_transient(refusal):
                raise
            sleep(retry_seconds_after(tries))


def is_transient(refusal: Refused) -> bool:
    """Whether another try may help."""
    return isinstance(refusal, Unreachable) or refusal.status >= 500 or refusal.slug in TRANSIENT_SLUGS


def retry_seconds_after(tries: int) -> float:
    """Seconds to wait after so many tries in a row that brought nothing."""
    return RETRY_SECONDS[min(tries, len(RETRY_SECONDS)) - 1]


def _step(client: Client, path: str, view: dict[str, Any], file: BinaryIO, progress: ByteProgress) -> str | None:
    """Do what is left to do as ``view`` has it; the submission's id, or None if that takes another look."""
    if view["problem"] is not None:
        raise Refused(422, view["problem"])
    if view["state"] == "receiving" and view["method"] == "put":
        _put(view, file, progress)
        return _submission(client.post(f"{path}/complete"))
    if view["state"] == "receiving":
        return _append(client, path, view, file, progress)
    return _submission(view)


def _submission(view: dict[str, Any]) -> str | None:
    found: str | None = view["submission"]
    return found


def _append(client: Client, path: str, view: dict[str, Any], file: BinaryIO, progress: ByteProgress) -> str | None:
    """Send the rest by tus, in one request."""
    offset, total = view["offset"], view["length"]
    headers = {
        "Tus-Resumable": "1.0.0",
        "Upload-Offset": str(offset),
        "Content-Type": "application/offset+octet-stream",
        "Content-Length": str(total - offset),
    }
    content = _chunks_with_progress(file, offset, total, progress)
    answer = client.send("PATCH", path, headers=headers, content=content, timeout=STALL_TIMEOUT)
    submission: str | None = answer.headers.get("Kennel-Submission")
    return submission


def _put(view: dict[str, Any], file: BinaryIO, progress: ByteProgress) -> None:
    """Send everything to the store, which knows nothing of tokens."""
    total = view["length"]
    headers = {"Content-Length": str(total)}
    try:
        answer = httpx.put(
            view["url"], headers=headers, content=_chunks_with_progress(file, 0, total, progress), timeout=TIMEOUT
        )
    except httpx.TransportError as error:
        raise Unreachable(f"The upload broke off: {error}.") from None
    if not answer.is_success:
        raise Refused(answer.status_code, {"title": f"The store answered {answer.status_code}."})


def _chunks_with_progress(file: BinaryIO, offset: int, total: int, progress: ByteProgress) -> Iterator[bytes]:
    file.seek(offset)
    while chunk := file.read(CHUNK_BYTES):
        yield chunk
        offset += len(chunk)
        progress(offset, total)
