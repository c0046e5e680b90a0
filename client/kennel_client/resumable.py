"""Resumable uploads: with tus, or with a presigned PUT into the service's store if it offers one. The user's state
folder keeps unfinished uploads, which the same command resumes.
"""

import hashlib
import json
import os
import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, TypedDict

from platformdirs import user_state_path

from kennel_client.api import TIMEOUT, segment
from kennel_client.errors import Refused
from kennel_client.names import Distribution
from kennel_client.steps import RETRY_SECONDS, Operation, Pause, Request, Retries, StoreRequest, answer_to, parse_json

STALL_TIMEOUT = (30.0, 90.0, 30.0, 30.0)
"""Timeouts in seconds. After a longer silence, the client reconnects and asks for the upload's state again."""
CHUNK_BYTES = 1 << 18
"""Bytes between two progress reports."""
MAX_PATCH_BYTES = 8 * 10**6
"""The most bytes in one request."""
MIN_PATCH_BYTES = 1 << 16
"""If a proxy refuses even requests of this size, the upload fails."""
ByteProgress = Callable[[int, int], None]
"""Called with the number of bytes sent and of the whole file."""
Waiting = Callable[[str], None]
"""Called with the reason for each pause of an upload."""


class DeclaredLatent(TypedDict, total=False):
    """What an upload declares of a generator's latent space: the dimension ``latent``, the distribution, and the
    classes of a one-hot class."""

    latent: int | None
    distribution: Distribution | None
    classes: int | None


@dataclass(frozen=True)
class PendingUpload:
    """A file to submit. ``key`` is the Idempotency-Key: with the same key, :meth:`begin` resumes the same upload, even
    after a crash. The service verifies ``sha256`` (hex) at the end.
    """

    slug: str
    file_name: str
    length: int
    key: str
    note: str = ""
    sha256: str | None = None
    latent: Mapping[str, object] = field(default_factory=dict)
    """A :class:`DeclaredLatent` without None."""

    def begin(self) -> Operation[dict[str, Any]]:
        """Begin the upload, or get the one begun with the same key; returns its state."""
        view: dict[str, Any] = parse_json((yield from answer_to(self.request())))
        return view

    def request(self) -> Request:
        body = {"length": self.length, "file_name": self.file_name, "note": self.note, "sha256": self.sha256}
        body |= self.latent
        headers = {"Idempotency-Key": self.key}
        return Request("POST", f"/competitions/{segment(self.slug)}/uploads", json=body, headers=headers)


def upload(
    pending: PendingUpload, file: BinaryIO, progress: ByteProgress, *, waiting: Waiting = lambda _reason: None
) -> Operation[str]:
    """Upload an entry, and continue after lost connections; returns the ID of the submission. Sends each request once:
    after a failure, it continues from the upload's state in the service.
    """
    path = ""
    reached = 0
    retries = Retries()
    while True:
        try:
            view = parse_json((yield Request("GET", path) if path else pending.request()))
            path = f"/uploads/{view['id']}"
            if view["offset"] > reached:
                reached = view["offset"]
                retries.reset()
            submission = yield from _step(path, view, file, progress=progress)
            if submission is not None:
                progress(pending.length, pending.length)
                return submission
            yield Pause(RETRY_SECONDS[0])
        except Refused as refusal:
            seconds = retries.seconds_after(refusal)
            waiting(str(refusal))
            yield Pause(seconds)


def _step(path: str, view: dict[str, Any], file: BinaryIO, *, progress: ByteProgress) -> Operation[str | None]:
    """Do the next step for the state ``view``; returns the submission's ID, or None to request the state again."""
    if view["problem"] is not None:
        raise Refused(422, view["problem"])
    if view["state"] == "receiving" and view["method"] == "put":
        yield from _put(view, file, progress)
        return _submission(parse_json((yield Request("POST", f"{path}/complete"))))
    if view["state"] == "receiving":
        return (yield from _append(path, view, file, progress=progress))
    return _submission(view)


def _submission(view: dict[str, Any]) -> str | None:
    submission_id: str | None = view["submission"]
    return submission_id


def _append(path: str, view: dict[str, Any], file: BinaryIO, *, progress: ByteProgress) -> Operation[str | None]:
    """Send the rest with tus, in requests that are halved when a proxy answers 413."""
    offset, total = view["offset"], view["length"]
    limit = MAX_PATCH_BYTES
    while True:
        end = min(offset + limit, total)
        headers = {
            "Tus-Resumable": "1.0.0",
            "Upload-Offset": str(offset),
            "Content-Type": "application/offset+octet-stream",
            "Content-Length": str(end - offset),
        }
        content = partial(_chunks_with_progress, file, offset, end, total=total, progress=progress)
        try:
            answer = yield Request("PATCH", path, headers=headers, content=content, timeout=STALL_TIMEOUT)
        except Refused as refusal:
            limit = _halved(end - offset, refusal)
            continue
        submission: str | None = answer.headers.get("Kennel-Submission")
        if submission is not None or end == total:
            return submission
        offset = end


def _halved(size: int, refusal: Refused) -> int:
    """Half of the size that a proxy has refused; raises other refusals."""
    if refusal.status != 413 or refusal.slug:
        raise refusal
    if size <= MIN_PATCH_BYTES:
        title = (
            f"A proxy in front of the service refuses requests of {size} bytes (413). Ask its operator to raise the "
            "limit."
        )
        raise Refused(413, {"title": title}) from refusal
    return max(size // 2, MIN_PATCH_BYTES)


def _put(view: dict[str, Any], file: BinaryIO, progress: ByteProgress) -> Operation[None]:
    """Send the whole file to the store's presigned URL, without a token."""
    total = view["length"]
    content = partial(_chunks_with_progress, file, 0, total, total=total, progress=progress)
    headers = {"Content-Length": str(total)}
    answer = yield StoreRequest("PUT", view["url"], headers=headers, content=content, timeout=TIMEOUT)
    if not answer.is_success:
        raise Refused(answer.status_code, {"title": f"The store responded with status {answer.status_code}."})


def _chunks_with_progress(
    file: BinaryIO, offset: int, end: int, *, total: int, progress: ByteProgress
) -> Iterator[bytes]:
    file.seek(offset)
    while chunk := file.read(min(CHUNK_BYTES, end - offset)):
        yield chunk
        offset += len(chunk)
        progress(offset, total)


LIFETIME_SECONDS = 30 * 86_400
"""No service keeps an upload longer, so older files are deleted."""


@dataclass(frozen=True)
class ResumableUpload:
    """A pending upload, and the file that stores its key until the upload has ended."""

    pending: PendingUpload
    file: Path

    def forget(self) -> None:
        """Delete the file: the upload has ended, and the same file again is a new upload."""
        self.file.unlink(missing_ok=True)


def open_resumable_upload(
    url: str, slug: str, file: BinaryIO, *, file_name: str, note: str, latent: DeclaredLatent
) -> ResumableUpload:
    """The upload stored for the same bytes, name, note and latent space, else a new one."""
    length = file.seek(0, os.SEEK_END)
    sha256 = hash_file(file)
    declared = {name: value for name, value in latent.items() if value is not None}
    description = {"url": url, "competition": slug, "file_name": file_name, "note": note, "sha256": sha256, **declared}
    folder = user_state_path("kennel") / "uploads"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    _delete_expired(folder)
    name = hashlib.sha256(json.dumps(description, sort_keys=True).encode()).hexdigest()
    state_file = folder / f"{name[:32]}.json"
    key = _saved_key(state_file) or _new_key(state_file, description)
    return ResumableUpload(PendingUpload(slug, file_name, length, key, note, sha256, declared), state_file)


def hash_file(file: BinaryIO) -> str:
    file.seek(0)
    digest = hashlib.sha256()
    while chunk := file.read(CHUNK_BYTES):
        digest.update(chunk)
    return digest.hexdigest()


def _saved_key(state_file: Path) -> str | None:
    try:
        key: str = json.loads(state_file.read_text())["key"]
    except (FileNotFoundError, ValueError, KeyError):
        return None
    return key


def _new_key(state_file: Path, description: Mapping[str, object]) -> str:
    """A new key, written to disk completely before it is sent to the service."""
    key = secrets.token_hex(16)
    draft = state_file.with_suffix(".new")
    draft.write_text(json.dumps({**description, "key": key}))
    draft.replace(state_file)
    return key


def _delete_expired(folder: Path) -> None:
    for path in folder.iterdir():
        if path.stat().st_mtime < time.time() - LIFETIME_SECONDS:
            path.unlink(missing_ok=True)
