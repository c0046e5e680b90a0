"""Participants, their zips, and three ways to submit: the API, Kennel's client and the kaggle protocol."""

import asyncio
import io
import json
import random
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import numpy as np

from benchmarks.load.service import LoadedService, open_competition
from kennel_client.api import ApiClient
from kennel_client.errors import Refused
from kennel_client.resumable import PendingUpload, upload
from scorer.accounts import accounts, api_tokens
from scorer.archive import write_images

ROLES = ("train", "held_out", "private_extra")
WAYS = ("api", "client", "wire")
TIMEOUT = 600.0
IMAGES, IMAGE_SIZE = 8, 16
"""The size of an inexpensive entry."""


@dataclass(frozen=True)
class Participant:
    handle: str
    token: str


class Rejected(Exception):
    """The service refused an upload. ``slug`` is the problem's, or the kaggle protocol's message."""

    def __init__(self, status: int, slug: str) -> None:
        super().__init__(f"{status} {slug}")
        self.status = status
        self.slug = slug


def _accepted(answer: httpx.Response) -> Any:
    """The answer's JSON, if it has any. Raises :class:`Rejected`."""
    try:
        body = answer.json()
    except ValueError:
        body = {"message": answer.text[:200]}
    if not answer.is_success:
        raise Rejected(answer.status_code, body.get("message") or str(body.get("type", "")).rpartition(":")[2])
    return body


def add_participants(service: LoadedService, count: int, prefix: str = "team") -> list[Participant]:
    now = datetime.now(UTC)
    people = [Participant(f"{prefix}-{number}", f"{prefix}-{number}-token") for number in range(count)]
    with service.sessions.begin() as session:
        for person in people:
            account = accounts.create_account(session, handle=person.handle, name="", role="participant", now=now)
            api_tokens.issue(session, account, person.token, name="load", now=now)
    return people


def noise_zip(seed: int, count: int = IMAGES, size: int = IMAGE_SIZE) -> bytes:
    """A zip of ``count`` PNGs of uniform noise, ``size`` pixels a side."""
    images = np.random.default_rng(seed).integers(0, 256, (count, size, size, 3), dtype=np.uint8)
    buffer = io.BytesIO()
    write_images(images, buffer)
    return buffer.getvalue()


def reference_zips(size: int, count: int = 64) -> dict[str, bytes]:
    return {role: noise_zip(1000 + seed, count, size) for seed, role in enumerate(ROLES)}


def open_small_competition(service: LoadedService, slug: str, **changes: Any) -> None:
    """Open a competition with inexpensive entries."""
    fields = {"image_count": IMAGES, "image_size": IMAGE_SIZE, **changes}
    open_competition(service, slug, reference_zips(IMAGE_SIZE), **fields)


def submit_entry(way: str, url: str, slug: str, *, person: Participant, content: bytes, key: str) -> str:
    """Submit a zip. Returns the submission's id. Raises :class:`Rejected`."""
    return {"api": _by_api, "client": _by_client, "wire": _by_wire}[way](url, slug, person, content=content, key=key)


def _by_api(url: str, slug: str, person: Participant, *, content: bytes, key: str) -> str:
    with httpx.Client(base_url=url, timeout=TIMEOUT, trust_env=False) as http:
        return post_zip(http, slug, person, content=content, key=key)


def post_zip(http: httpx.Client, slug: str, person: Participant, *, content: bytes, key: str) -> str:
    """Submit a zip with one POST. Returns the submission's id. Raises :class:`Rejected`."""
    headers = {"Authorization": f"Bearer {person.token}", "Idempotency-Key": key}
    answer = http.post(f"/api/v1/competitions/{slug}/submissions", content=content, headers=headers)
    return str(_accepted(answer)["id"])


def _by_client(url: str, slug: str, person: Participant, *, content: bytes, key: str) -> str:
    """What ``kennel submit`` does after its local check."""
    pending = PendingUpload(slug, "entry.zip", len(content), key)
    try:
        with ApiClient(url, person.token) as client:
            return client.run(upload(pending, io.BytesIO(content), lambda *_: None))
    except Refused as refusal:
        raise Rejected(refusal.status, refusal.slug) from None


def _by_wire(url: str, slug: str, person: Participant, *, content: bytes, key: str) -> str:
    """The official client's requests: start, PUT, create, and one look at the result."""
    service = f"{url}/api/v1/competitions.CompetitionApiService"
    with httpx.Client(timeout=TIMEOUT, trust_env=False, auth=(person.handle, person.token)) as http:

        def call(method: str, body: Mapping[str, Any]) -> Any:
            return _accepted(http.post(f"{service}/{method}", json=body))

        started = call(
            "StartSubmissionUpload", {"competitionName": slug, "contentLength": len(content), "fileName": f"{key}.zip"}
        )
        _accepted(httpx.put(started["createUrl"], content=content, timeout=TIMEOUT, trust_env=False))
        created = call("CreateSubmission", {"competitionName": slug, "blobFileTokens": started["token"]})
        entry = call("GetSubmission", {"ref": created["ref"]})
    return str(entry["url"]).rpartition("/")[2]


def shuffled_ways(count: int, source: random.Random) -> Sequence[str]:
    """``count`` ways in random order, a third of each."""
    ways = [WAYS[number % len(WAYS)] for number in range(count)]
    source.shuffle(ways)
    return ways


class Upload(NamedTuple):
    """Begin and end of an upload (seconds since the first one was due), and its result."""

    began: float
    ended: float
    submission: str | None
    error: str | None


def submit_entries(url: str, slug: str, path: Path, *, people: Sequence[Participant], seconds: float) -> list[Upload]:
    """Submit the zip at ``path`` for each person with the client, in separate threads, spread over ``seconds``."""
    content = path.read_bytes()
    start = time.perf_counter()

    def one(number: int, person: Participant) -> Upload:
        due = start + seconds * number / len(people)
        time.sleep(max(0.0, due - time.perf_counter()))
        began = time.perf_counter() - start
        submission = error = None
        try:
            submission = submit_entry("client", url, slug, person=person, content=content, key=f"load-{person.handle}")
        except (Rejected, OSError) as problem:
            error = f"{type(problem).__name__}: {problem}"
        return Upload(began, time.perf_counter() - start, submission, error)

    with ThreadPoolExecutor(len(people)) as pool:
        return list(pool.map(one, range(len(people)), people))


async def read_events(port: int, submission: str, token: str) -> AsyncGenerator[tuple[float, dict[str, Any]]]:
    """The events of a submission with their arrival times (seconds since 1970), until the stream ends.

    Raises ``ConnectionError`` for any answer except 200.
    """
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 20)
    try:
        lines = [
            f"GET /api/v1/submissions/{submission}/events HTTP/1.1",
            "Host: kennel",
            f"Authorization: Bearer {token}",
            "Accept: text/event-stream",
        ]
        writer.write(("\r\n".join(lines) + "\r\n\r\n").encode())
        status = await reader.readline()
        if status.split()[1:2] != [b"200"]:
            raise ConnectionError(status.decode(errors="replace").strip() or "the server has closed a connection")
        # Chunk lengths, headers and comments begin differently. The service never splits a line.
        while line := await reader.readline():
            if line.startswith(b"data: "):
                yield time.time(), json.loads(line[6:])
            elif line == b"0\r\n":
                return
    finally:
        writer.close()
