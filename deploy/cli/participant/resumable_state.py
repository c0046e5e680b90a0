"""Uploads under way, remembered in the user's state folder: the same command goes on where it stopped."""

import hashlib
import json
import os
import secrets
import time
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from platformdirs import user_state_path

from deploy.client.api import CHUNK_BYTES
from deploy.client.resumable import PendingUpload

LIFETIME_SECONDS = 30 * 86_400
"""Nothing older is of use: no service keeps an upload that long."""


@dataclass(frozen=True)
class ResumableUpload:
    """A promise, and the file that remembers its key until the upload has ended."""

    promise: PendingUpload
    file: Path

    def forget(self) -> None:
        """The upload has ended: the same zip again would be another entry."""
        self.file.unlink(missing_ok=True)


def resumable_upload_of(url: str, slug: str, file: BinaryIO, *, file_name: str, note: str) -> ResumableUpload:
    """The promise to hand a file in: the one remembered for the same bytes, name and note, else a new one."""
    length, sha256 = file.seek(0, os.SEEK_END), sha256_of(file)
    about = {"url": url, "competition": slug, "file_name": file_name, "note": note, "sha256": sha256}
    folder = user_state_path("kennel") / "uploads"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    _delete_expired(folder)
    name = hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()
    memory = folder / f"{name[:32]}.json"
    key = _saved_key(memory) or _new_key(memory, about)
    return ResumableUpload(PendingUpload(slug, file_name, length, key, note, sha256), memory)


def sha256_of(file: BinaryIO) -> str:
    """The SHA-256 of a file, in hex."""
    file.seek(0)
    digest = hashlib.sha256()
    while chunk := file.read(CHUNK_BYTES):
        digest.update(chunk)
    return digest.hexdigest()


def _saved_key(memory: Path) -> str | None:
    try:
        key: str = json.loads(memory.read_text())["key"]
    except (FileNotFoundError, ValueError, KeyError):
        return None
    return key


def _new_key(memory: Path, about: dict[str, str]) -> str:
    """A key that is on the disk, whole, before the service hears of it."""
    key, fresh = secrets.token_hex(16), memory.with_suffix(".new")
    fresh.write_text(json.dumps({**about, "key": key}))
    fresh.replace(memory)
    return key


def _delete_expired(folder: Path) -> None:
    for each in folder.iterdir():
        if each.stat().st_mtime < time.time() - LIFETIME_SECONDS:
            each.unlink(missing_ok=True)
