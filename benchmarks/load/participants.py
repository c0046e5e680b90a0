"""Participants and their zips, and three ways to hand one in: the API, the product's client, the kaggle wire."""

import io
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import httpx
import numpy as np

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
    """An account and its API token."""

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
    """Make accounts with a token each."""
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
    """Small reference sets of noise, by role."""
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
            "StartSubmissionUpload",
            {"competitionName": slug, "contentLength": len(content), "fileName": f"{key}.zip"},
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
