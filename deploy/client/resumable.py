"""Resumable uploads: by tus, or by a presigned PUT into the service's store where it offers one."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

import httpx

from deploy.client.api import TIMEOUT, Client, Refused, Unreachable, segment

STALL_TIMEOUT = httpx.Timeout(30.0, read=90.0)
"""A connection that is silent for so long is given up, and the state of the upload is asked for again."""
RETRY_SECONDS = (0.5, 1, 2, 4, 8, 15, 30)
"""Seconds before each retry; the sequence starts over whenever a byte has arrived."""
CHUNK_BYTES = 1 << 18
"""Bytes between two progress reports."""
MAX_TRIES = 20
"""Tries in a row without progress after which the upload is given up: about six minutes."""
TRANSIENT_SLUGS = frozenset({"too-often", "too-slow", "wrong-offset", "taken-over", "too-many-streams"})
ByteProgress = Callable[[int, int], None]
"""Called with the number of bytes sent and of the whole file."""


@dataclass(frozen=True)
class PendingUpload:
    """A file to submit. ``key`` is the Idempotency-Key: with the same key, :meth:`begin` resumes the same upload, even
    after a crash. ``sha256`` (hex) is verified by the service at the end."""

    slug: str
    file_name: str
    length: int
    key: str
    note: str = ""
    sha256: str | None = None

    def begin(self, client: Client) -> dict[str, Any]:
        """Begin the upload, or get the one begun with the same key; returns its state."""
        body = {"length": self.length, "file_name": self.file_name, "note": self.note, "sha256": self.sha256}
        headers = {"Idempotency-Key": self.key}
        view: dict[str, Any] = client.call(
            "POST", f"/competitions/{segment(self.slug)}/uploads", json=body, headers=headers
        )
        return view


def upload_resumably(
    client: Client,
    pending: PendingUpload,
    file: BinaryIO,
    *,
    progress: ByteProgress = lambda _sent, _total: None,
    sleep: Callable[[float], None] = time.sleep,
) -> str:
    """Upload an entry and return the id of the submission; ``Refused`` for errors that a retry cannot cure."""
    path = ""
    reached = 0
    tries = 0
    while True:
        try:
            view = client.get(path) if path else pending.begin(client)
            path = f"/uploads/{view['id']}"
            if view["offset"] > reached:
                reached = view["offset"]
                tries = 0
            submission = _step(client, path, view, file, progress)
            if submission is not None:
                progress(pending.length, pending.length)
                return submission
            sleep(RETRY_SECONDS[0])
        except Refused as refusal:
            tries += 1
            if tries > MAX_TRIES or not is_transient(refusal):
                raise
            sleep(retry_seconds_after(tries))


def is_transient(refusal: Refused) -> bool:
    """Whether a retry may help."""
    return isinstance(refusal, Unreachable) or refusal.status >= 500 or refusal.slug in TRANSIENT_SLUGS


def retry_seconds_after(tries: int) -> float:
    """Seconds to wait after so many tries in a row without progress."""
    return RETRY_SECONDS[min(tries, len(RETRY_SECONDS)) - 1]


def _step(client: Client, path: str, view: dict[str, Any], file: BinaryIO, progress: ByteProgress) -> str | None:
    """Do what the state ``view`` still needs; the submission's id, or None if its state must be asked for again."""
    if view["problem"] is not None:
        raise Refused(422, view["problem"])
    if view["state"] == "receiving" and view["method"] == "put":
        _put(view, file, progress)
        return _submission(client.post(f"{path}/complete"))
    if view["state"] == "receiving":
        return _append(client, path, view, file, progress)
    return _submission(view)


def _submission(view: dict[str, Any]) -> str | None:
    submission_id: str | None = view["submission"]
    return submission_id


def _append(client: Client, path: str, view: dict[str, Any], file: BinaryIO, progress: ByteProgress) -> str | None:
    """Send the rest by tus, in one PATCH."""
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
    """Send the whole file to the store's presigned URL; no token is sent."""
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
