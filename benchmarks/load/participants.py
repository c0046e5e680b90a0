"""Participants and their zips, and three ways to submit one: the API, the product's client, the kaggle wire.

Many submit the same zip from a process of their own, so that the service is measured and not the clients.
"""

import asyncio
import io
import json
import random
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import numpy as np

from benchmarks.harness.isolation import ROOT
from benchmarks.load.service import LoadedService
from kennel_client.api import ApiClient
from kennel_client.errors import Refused
from kennel_client.resumable import PendingUpload, upload_resumably
from scorer.accounts import accounts, api_tokens
from scorer.archive import write_images

ROLES = ("train", "held_out", "private_extra")
WAYS = ("api", "client", "wire")
TIMEOUT = 600.0


@dataclass(frozen=True)
class Participant:
    handle: str
    token: str


class Rejected(Exception):
    """The service has refused an upload with this problem: its slug, or the kaggle wire's message."""

    def __init__(self, status: int, slug: str) -> None:
        super().__init__(f"{status} {slug}")
        self.status = status
        self.slug = slug


def _rejected(answer: httpx.Response) -> Rejected:
    try:
        body = answer.json()
    except ValueError:
        return Rejected(answer.status_code, answer.text[:200])
    return Rejected(answer.status_code, str(body.get("message") or str(body.get("type", "")).rpartition(":")[2]))


def add_participants(service: LoadedService, count: int, prefix: str = "team") -> list[Participant]:
    now = datetime.now(UTC)
    people = [Participant(f"{prefix}-{number}", f"{prefix}-{number}-token") for number in range(count)]
    with service.sessions.begin() as session:
        for person in people:
            account = accounts.create_account(session, handle=person.handle, name="", role="participant", now=now)
            api_tokens.issue(session, account, person.token, name="load", now=now)
    return people


def noise_zip(seed: int, count: int, size: int) -> bytes:
    """A zip of ``count`` PNGs of uniform noise, ``size`` pixels a side."""
    images = np.random.default_rng(seed).integers(0, 256, (count, size, size, 3), dtype=np.uint8)
    buffer = io.BytesIO()
    write_images(images, buffer)
    return buffer.getvalue()


def reference_zips(size: int, count: int = 64) -> dict[str, bytes]:
    return {role: noise_zip(1000 + seed, count, size) for seed, role in enumerate(ROLES)}


def hand_in(way: str, url: str, slug: str, person: Participant, content: bytes, key: str) -> str:
    """Hand in a zip; the submission's id. Raises :class:`Rejected`."""
    return {"api": _by_api, "client": _by_client, "wire": _by_wire}[way](url, slug, person, content, key)


def _by_api(url: str, slug: str, person: Participant, content: bytes, key: str) -> str:
    with httpx.Client(base_url=url, timeout=TIMEOUT, trust_env=False) as http:
        return post_zip(http, slug, person, content, key)


def post_zip(http: httpx.Client, slug: str, person: Participant, content: bytes, key: str) -> str:
    """Hand in a zip by one POST; the submission's id. Raises :class:`Rejected`."""
    headers = {"Authorization": f"Bearer {person.token}", "Idempotency-Key": key}
    answer = http.post(f"/api/v1/competitions/{slug}/submissions", content=content, headers=headers)
    if not answer.is_success:
        raise _rejected(answer)
    return str(answer.json()["id"])


def _by_client(url: str, slug: str, person: Participant, content: bytes, key: str) -> str:
    """What ``kennel submit`` does after its local check."""
    pending = PendingUpload(slug, "entry.zip", len(content), key)
    try:
        with ApiClient(url, person.token) as client:
            return upload_resumably(client, pending, io.BytesIO(content))
    except Refused as refusal:
        raise Rejected(refusal.status, refusal.slug) from None


def _by_wire(url: str, slug: str, person: Participant, content: bytes, key: str) -> str:
    """The official client's requests: start, PUT, create, and one look at the result."""
    service = f"{url}/api/v1/competitions.CompetitionApiService"
    with httpx.Client(timeout=TIMEOUT, trust_env=False, auth=(person.handle, person.token)) as http:

        def call(method: str, body: Mapping[str, Any]) -> Any:
            answer = http.post(f"{service}/{method}", json=body)
            if not answer.is_success:
                raise _rejected(answer)
            return answer.json()

        started = call(
            "StartSubmissionUpload", {"competitionName": slug, "contentLength": len(content), "fileName": f"{key}.zip"}
        )
        sent = httpx.put(started["createUrl"], content=content, timeout=TIMEOUT, trust_env=False)
        if not sent.is_success:
            raise _rejected(sent)
        created = call("CreateSubmission", {"competitionName": slug, "blobFileTokens": started["token"]})
        entry = call("GetSubmission", {"ref": created["ref"]})
    return str(entry["url"]).rpartition("/")[2]


def shuffled_ways(count: int, source: random.Random) -> Sequence[str]:
    """As many ways, each a third of them, in random order."""
    ways = [WAYS[number % len(WAYS)] for number in range(count)]
    source.shuffle(ways)
    return ways


@dataclass(frozen=True)
class Uploads:
    """Who hands in the zip at ``path``, in which way, and over how many seconds the beginnings are spread."""

    url: str
    slug: str
    path: str
    people: Sequence[Participant]
    way: str
    seconds: float


class Upload(NamedTuple):
    """When an upload began and ended (seconds since the first one was due), and what came of it."""

    began: float
    ended: float
    submission: str | None
    error: str | None


def hand_in_all(task: Uploads) -> list[Upload]:
    """Hand in every zip, each in a thread of its own and at its time."""
    content = Path(task.path).read_bytes()
    start = time.perf_counter()

    def one(number: int, person: Participant) -> Upload:
        due = start + task.seconds * number / len(task.people)
        time.sleep(max(0.0, due - time.perf_counter()))
        began = time.perf_counter() - start
        submission = error = None
        try:
            submission = hand_in(task.way, task.url, task.slug, person, content, f"load-{person.handle}")
        except (Rejected, OSError) as problem:
            error = f"{type(problem).__name__}: {problem}"
        return Upload(began, time.perf_counter() - start, submission, error)

    with ThreadPoolExecutor(max(1, len(task.people))) as pool:
        return list(pool.map(one, range(len(task.people)), task.people))


def upload_apart(task: Uploads) -> list[Upload]:
    """:func:`hand_in_all` in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.load.participants", json.dumps(asdict(task))]
    printed = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout
    return [Upload(*row) for row in json.loads(printed)]


Event = dict[str, Any]


async def events_of(
    port: int, submission: str, token: str, *, address: str = "127.0.0.1"
) -> AsyncGenerator[tuple[float, Event | None]]:
    """The events of a submission with the times (seconds since 1970) at which they came; first (time, None) once the
    stream is open. Ends with the stream; ``ConnectionError`` for any answer but 200."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=(address, 0), limit=1 << 20)
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
        yield time.time(), None
        # Chunks' lengths, headers and comments are lines without this beginning; the service sends no line in pieces.
        while line := await reader.readline():
            if line.startswith(b"data: "):
                yield time.time(), json.loads(line[6:])
            elif line == b"0\r\n":
                return
    finally:
        writer.close()


if __name__ == "__main__":
    fields = json.loads(sys.argv[1])
    people = [Participant(**person) for person in fields.pop("people")]
    print(json.dumps(hand_in_all(Uploads(people=people, **fields))))
