"""Tables for imports, and the files of data releases."""

import csv
import io
from typing import Any

from tests.api.conftest import Service


def release(service: Service, slug: str, **wanted: Any) -> Any:
    """Create a data release and wait until it is done."""
    asked = service.call("organizer", "POST", f"/competitions/{slug}/releases", json=wanted)
    assert asked.status_code == 202, asked.text
    assert asked.json()["state"] == "waiting"
    service.run_jobs()
    made = service.call("organizer", "GET", f"/competitions/{slug}/releases/{asked.json()['id']}").json()
    assert made["state"] == "done", made
    return made


def content(service: Service, slug: str, made: Any, name: str, who: str | None = "organizer") -> bytes:
    answer = service.call(who, "GET", f"/competitions/{slug}/releases/{made['id']}/files/{name}")
    assert answer.status_code == 200, answer.text
    return bytes(answer.content)


ROWS = [
    # id, public and private score, FID, FID, distance, distance, label
    ("101", 20.0, 30.0, 20.0, 30.0, 0.3, 0.4, "non-mem"),
    ("102", 40.0, 999_999.0, 10.0, 12.0, 0.25, 0.2, "mgan"),
    ("103", 25.0, 120.0, 25.0, 30.0, 0.5, 0.25, ""),
    ("99", 21.0, 28.0, 21.0, 28.0, 0.3, 0.41, "non-mem"),
]
HEADER = (
    "submission_id", "public_score", "private_score", "FID_public", "FID_private", "distance_public",
    "distance_private", "labels",
)  # fmt: skip


def table(*rows: tuple[Any, ...]) -> bytes:
    """Return a CSV like the released table of 2019."""
    file = io.StringIO()
    csv.writer(file).writerows([HEADER, *(rows or ROWS)])
    return file.getvalue().encode()


def load(service: Service, slug: str, content: bytes | None = None, who: str = "organizer", **params: Any) -> Any:
    query = {"tau_public": 0.28, "tau_private": 0.3, **params}
    return service.call(who, "POST", f"/competitions/{slug}/imports", content=content or table(), params=query)
