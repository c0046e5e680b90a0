"""Resumable uploads with tus headers, and their blobs in the store."""

import hashlib
from base64 import b64encode
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.api.conftest import API, Service
from tests.factories import make_zip, noise_images

TUS = {"Tus-Resumable": "1.0.0"}
ZIP = make_zip(noise_images(9))


def create(service: Service, slug: str, length: int, who: str = "ada", **headers: str) -> Any:
    """Create an upload with tus headers. In names of headers, ``_`` means ``-``."""
    request_headers = {name.replace("_", "-"): value for name, value in headers.items()}
    path = f"/competitions/{slug}/uploads"
    return service.call(who, "POST", path, headers={**TUS, "Upload-Length": str(length), **request_headers})


def words(**values: str) -> str:
    """Return an Upload-Metadata header."""
    return ",".join(f"{name} {b64encode(value.encode()).decode()}" for name, value in values.items())


def begun(service: Service, slug: str, content: bytes = ZIP, **headers: str) -> str:
    """Create an upload and return its path below the API."""
    answer = create(service, slug, len(content), **headers)
    assert answer.status_code == 201, answer.text
    return str(answer.headers["location"]).removeprefix(API)


def send(service: Service, path: str, offset: int, piece: Any, who: str = "ada", **headers: str) -> Any:
    request_headers = {"Upload-Offset": str(offset), "Content-Type": "application/offset+octet-stream"}
    request_headers |= {name.replace("_", "-"): value for name, value in headers.items()}
    return service.call(who, "PATCH", path, headers={**TUS, **request_headers}, content=piece)


def head(service: Service, path: str, who: str = "ada") -> Any:
    """Request the offset of an upload."""
    return service.call(who, "HEAD", path, headers=TUS)


def stored(service: Service, folder: str) -> list[Path]:
    """Return the paths in a folder of the store."""
    root = Path(service.context.settings.blob_url.removeprefix("file://")) / folder
    return sorted(root.rglob("*")) if root.exists() else []


def checksum(algorithm: str, data: bytes) -> str:
    """Return an Upload-Checksum header."""
    return f"{algorithm} {b64encode(hashlib.new(algorithm, data).digest()).decode()}"


def later(service: Service, by: timedelta) -> None:
    """Set the worker's clock ahead."""
    service.context.now = lambda: datetime.now(UTC) + by


def leave_whole(service: Service, slug: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """Send a complete upload and kill its web process after the last byte. Return its path."""
    path = begun(service, slug)

    def killed(*_: object, **__: object) -> None:
        raise InterruptedError

    with monkeypatch.context() as patch:
        patch.setattr("scorer.submissions.upload_bytes.finalise", killed)
        with pytest.raises(InterruptedError):
            send(service, path, 0, ZIP)
    return path
