"""Resumable uploads in the headers of tus, and what they leave in the store."""

import hashlib
from base64 import b64encode
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.api.conftest import API, Service
from tests.factories import noise_images, zip_of

TUS = {"Tus-Resumable": "1.0.0"}
ZIP = zip_of(noise_images(9))


def create(service: Service, slug: str, length: int, who: str = "ada", **headers: str) -> Any:
    """A creation in tus's headers; ``_`` stands for ``-``."""
    request_headers = {name.replace("_", "-"): value for name, value in headers.items()}
    path = f"/competitions/{slug}/uploads"
    return service.call(who, "POST", path, headers={**TUS, "Upload-Length": str(length), **request_headers})


def begun(service: Service, slug: str, content: bytes = ZIP, **headers: str) -> str:
    """The path of a new upload below the API."""
    answer = create(service, slug, len(content), **headers)
    assert answer.status_code == 201, answer.text
    return str(answer.headers["location"]).removeprefix(API)


def send(service: Service, path: str, offset: int, piece: Any, who: str = "ada", **headers: str) -> Any:
    """A piece."""
    request_headers = {"Upload-Offset": str(offset), "Content-Type": "application/offset+octet-stream"}
    request_headers |= {name.replace("_", "-"): value for name, value in headers.items()}
    return service.call(who, "PATCH", path, headers={**TUS, **request_headers}, content=piece)


def head(service: Service, path: str, who: str = "ada") -> Any:
    """How far it is, by tus."""
    return service.call(who, "HEAD", path, headers=TUS)


def stored(service: Service, folder: str) -> list[Path]:
    """Blobs in a folder of the store."""
    root = Path(service.context.settings.blob_url.removeprefix("file://")) / folder
    return sorted(root.rglob("*")) if root.exists() else []


def checksum(algorithm: str, data: bytes) -> str:
    """Upload-Checksum."""
    return f"{algorithm} {b64encode(hashlib.new(algorithm, data).digest()).decode()}"


def later(service: Service, by: timedelta) -> None:
    """Let the worker's clock run ahead."""
    service.context.now = lambda: datetime.now(UTC) + by


def leave_whole(service: Service, slug: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The address of an upload whose web process was killed after its last byte."""
    path = begun(service, slug)

    def killed(*_: object, **__: object) -> None:
        raise InterruptedError

    with monkeypatch.context() as patch:
        patch.setattr("scorer.submissions.upload_bytes.finalise", killed)
        with pytest.raises(InterruptedError):
            send(service, path, 0, ZIP)
    return path
