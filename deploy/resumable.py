"""Uploading so that a cut costs nothing: by tus, or straight into the service's store where it offers that."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

import httpx

from deploy.client import TIMEOUT, Client, Refused, Unreachable, segment

STALLED = httpx.Timeout(30.0, read=90.0)
"""A line that is dead for so long will not come back; whoever waits for the answer asks once more."""
PAUSES = (0.5, 1, 2, 4, 8, 15, 30)
"""Seconds before another try; they begin anew with every byte that arrived."""
PIECE = 1 << 18
"""Bytes between two looks at the progress."""
TRIES = 20
"""So many tries in a row that bring nothing, and it is given up: about six minutes."""
PASSING = frozenset({"too-often", "too-slow", "wrong-offset", "taken-over", "too-many-streams"})
Progress = Callable[[int, int], None]
"""Called with the bytes that have been sent and those of the whole file."""


@dataclass(frozen=True)
class Promise:
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
    promise: Promise,
    file: BinaryIO,
    *,
    progress: Progress = lambda _sent, _total: None,
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
            sleep(PAUSES[0])
        except Refused as refusal:
            tries += 1
            if tries > TRIES or not passes(refusal):
                raise
            sleep(pause_after(tries))


def passes(refusal: Refused) -> bool:
    """Whether another try may help."""
    return isinstance(refusal, Unreachable) or refusal.status >= 500 or refusal.slug in PASSING


def pause_after(tries: int) -> float:
    """Seconds to wait after so many tries in a row that brought nothing."""
    return PAUSES[min(tries, len(PAUSES)) - 1]


def _step(client: Client, path: str, view: dict[str, Any], file: BinaryIO, progress: Progress) -> str | None:
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


def _append(client: Client, path: str, view: dict[str, Any], file: BinaryIO, progress: Progress) -> str | None:
    """Send the rest by tus, in one request."""
    offset, total = view["offset"], view["length"]
    headers = {
        "Tus-Resumable": "1.0.0",
        "Upload-Offset": str(offset),
        "Content-Type": "application/offset+octet-stream",
        "Content-Length": str(total - offset),
    }
    content = _told(file, offset, total, progress)
    answer = client.send("PATCH", path, headers=headers, content=content, timeout=STALLED)
    submission: str | None = answer.headers.get("Kennel-Submission")
    return submission


def _put(view: dict[str, Any], file: BinaryIO, progress: Progress) -> None:
    """Send everything to the store, which knows nothing of tokens."""
    total = view["length"]
    headers = {"Content-Length": str(total)}
    try:
        answer = httpx.put(view["url"], headers=headers, content=_told(file, 0, total, progress), timeout=TIMEOUT)
    except httpx.TransportError as error:
        raise Unreachable(f"The upload broke off: {error}.") from None
    if not answer.is_success:
        raise Refused(answer.status_code, {"title": f"The store answered {answer.status_code}."})


def _told(file: BinaryIO, offset: int, total: int, progress: Progress) -> Iterator[bytes]:
    file.seek(offset)
    while chunk := file.read(PIECE):
        yield chunk
        offset += len(chunk)
        progress(offset, total)
