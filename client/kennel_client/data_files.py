"""Downloading what a competition offers."""

import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from kennel_client.api import DOWNLOAD_SILENCE_SECONDS, ApiClient, segment
from kennel_client.downloads import ArrivingFile


def download(
    client: ApiClient, slug: str, file: Mapping[str, Any], target: Path, progress: Callable[[float], None]
) -> None:
    """Write a data file of a competition, unless it is there already; ``progress`` is called with the share that has
    arrived. What an interrupted download has left is gone on with. Raises as ``ArrivingFile`` does."""
    if _has_hash(target, file["sha256"]):
        return
    path = f"/competitions/{segment(slug)}/data/{segment(file['name'])}"
    headers = {"Accept-Encoding": "identity"}
    with ArrivingFile(target, file["sha256"], resumed=True) as out:
        if 0 < out.arrived < file["bytes"]:
            headers["Range"] = f"bytes={out.arrived}-"
        with client.stream(path, headers=headers, silence=DOWNLOAD_SILENCE_SECONDS) as answer:
            if answer.status_code != 206:
                out.restart()
            for chunk in answer.iter_bytes():
                out.write(chunk)
                progress(out.arrived / file["bytes"])


def _has_hash(path: Path, sha256: str) -> bool:
    """Whether a file is there, with these bytes."""
    if not path.exists():
        return False
    with path.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest() == sha256
