"""Uploading so that a cut costs nothing: by tus, or straight into the service's store where it offers that."""

import os
import secrets
import time
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

import httpx

from deploy.client import CHUNK, TIMEOUT, Client, Refused

PAUSES = (0.5, 1, 2, 4, 8, 15, 30)
"""Seconds before another try; they begin anew with every byte that arrived."""
TRIES = 20
"""So many tries in a row that bring nothing, and it is given up: about six minutes."""
PASSING = frozenset({"too-often", "too-slow", "wrong-offset", "taken-over"})
Progress = Callable[[int, int], None]
"""Called with the bytes that have been sent and those of the whole file."""


def upload_resumably(
    client: Client,
    slug: str,
    file: BinaryIO,
    *,
    file_name: str,
    note: str = "",
    key: str | None = None,
    progress: Progress = lambda _sent, _total: None,
    sleep: Callable[[float], None] = time.sleep,
) -> str:
    """Hand an entry in and answer with the id of the submission; ``Refused`` for what no repetition can cure.

    ``key`` is the Idempotency-Key: whoever keeps it may call again after a crash, and goes on with the same upload.
    """
    total = file.seek(0, os.SEEK_END)
    body = {"length": total, "file_name": file_name, "note": note}
    headers = {"Idempotency-Key": key or secrets.token_hex(16)}
    path, reached, tries = "", 0, 0
    while True:
        try:
            if path:
                view = client.get(path)
            else:
                view = client.call("POST", f"/competitions/{slug}/uploads", json=body, headers=headers)
                path = f"/uploads/{view['id']}"
            if view["offset"] > reached:
                reached, tries = view["offset"], 0
            submission = _step(client, path, view, file, progress)
            if submission is not None:
                progress(total, total)
                return submission
            sleep(PAUSES[0])
        except Refused as refusal:
            tries += 1
            if tries > TRIES or not _passes(refusal):
                raise
            sleep(PAUSES[min(tries, len(PAUSES)) - 1])


def _passes(refusal: Refused) -> bool:
    slug = str(refusal.problem.get("type", "")).rsplit(":", 1)[-1]
    return refusal.status == 0 or refusal.status >= 500 or slug in PASSING


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
    submission: str | None = client.send("PATCH", path, headers=headers, content=content).headers.get(
        "Kennel-Submission"
    )
    return submission


def _put(view: dict[str, Any], file: BinaryIO, progress: Progress) -> None:
    """Send everything to the store, which knows nothing of tokens."""
    total = view["length"]
    headers = {"Content-Length": str(total)}
    try:
        answer = httpx.put(view["url"], headers=headers, content=_told(file, 0, total, progress), timeout=TIMEOUT)
    except httpx.TransportError as error:
        raise Refused(0, {"title": f"The upload broke off: {error}."}) from None
    if not answer.is_success:
        raise Refused(answer.status_code, {"title": f"The store answered {answer.status_code}."})


def _told(file: BinaryIO, offset: int, total: int, progress: Progress) -> Iterator[bytes]:
    file.seek(offset)
    while chunk := file.read(CHUNK):
        yield chunk
        offset += len(chunk)
        progress(offset, total)
