"""Unfinished uploads, remembered in the user's state folder: the same command resumes them."""

import hashlib
import json
import os
import secrets
import time
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from platformdirs import user_state_path

from kennel_client.api import CHUNK_BYTES
from kennel_client.resumable import PendingUpload

LIFETIME_SECONDS = 30 * 86_400
"""No service keeps an upload longer, so older files are deleted."""


@dataclass(frozen=True)
class ResumableUpload:
    """A pending upload, and the file that stores its key until the upload has ended."""

    pending: PendingUpload
    file: Path

    def forget(self) -> None:
        """Delete the file: the upload has ended, and the same zip again is another entry."""
        self.file.unlink(missing_ok=True)


def resumable_upload_of(url: str, slug: str, file: BinaryIO, *, file_name: str, note: str) -> ResumableUpload:
    """The upload of a file: the one stored for the same bytes, name and note, else a new one."""
    length = file.seek(0, os.SEEK_END)
    sha256 = sha256_of(file)
    description = {"url": url, "competition": slug, "file_name": file_name, "note": note, "sha256": sha256}
    folder = user_state_path("kennel") / "uploads"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    _delete_expired(folder)
    name = hashlib.sha256(json.dumps(description, sort_keys=True).encode()).hexdigest()
    state_file = folder / f"{name[:32]}.json"
    key = _saved_key(state_file) or _new_key(state_file, description)
    return ResumableUpload(PendingUpload(slug, file_name, length, key, note, sha256), state_file)


def sha256_of(file: BinaryIO) -> str:
    """The SHA-256 of a file, in hex."""
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


def _new_key(state_file: Path, description: dict[str, str]) -> str:
    """A new key, written to disk completely before it is sent to the service."""
    key = secrets.token_hex(16)
    draft = state_file.with_suffix(".new")
    draft.write_text(json.dumps({**description, "key": key}))
    draft.replace(state_file)
    return key


def _delete_expired(folder: Path) -> None:
    for each in folder.iterdir():
        if each.stat().st_mtime < time.time() - LIFETIME_SECONDS:
            each.unlink(missing_ok=True)
