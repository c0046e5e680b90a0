"""Teams that upload entries through the real client, by tus or in one request, and retry after failures."""

import hashlib
import io
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from random import Random
from typing import Any, Literal

from deploy.demo.accounts import new_token
from kennel_client.admin import References
from kennel_client.api import ApiClient
from kennel_client.errors import Refused
from kennel_client.resumable import PendingUpload, upload
from kennel_client.steps import is_transient
from tests.factories import make_spec, make_zip, noise_images
from tests.faults.rounds.stack import Stack

IMAGES, SIZE = 64, 16
TEAMS = 4
ENTRIES = 3
"""Uploads per team, one more than its daily limit."""
DAILY_LIMIT = 2
PATIENCE = 90.0
"""Seconds after which a client gives up."""
MAX_PAUSE = 0.4
REFERENCES = (("train", 1), ("held_out", 2), ("private_extra", 3))
Kind = Literal["valid", "damaged", "copied"]
Way = Literal["tus", "post"]


@dataclass
class Attempt:
    """One entry that a team tries to submit under one Idempotency-Key, with the service's answers."""

    team: int
    key: str
    kind: Kind
    way: Way
    body: bytes = field(repr=False)
    accepted: set[str] = field(default_factory=set)
    """The IDs in 2xx responses, at most one."""
    refused: str | None = None
    """The slug of the final refusal."""
    cancelled: bool = False
    """Whether a cancellation was confirmed."""


def damaged(body: bytes) -> bytes:
    """The zip with one changed byte in its first image, and an unchanged directory."""
    at = body.index(b"IDAT") + 20
    return body[:at] + bytes([body[at] ^ 0xFF]) + body[at + 1 :]


@dataclass
class Traffic:
    """The competition of a round and its teams, each in a thread."""

    stack: Stack
    slug: str
    seed: int
    attempts: list[Attempt]
    accounts: dict[int, tuple[str, str]]
    """By team: handle and token."""
    cancelling: int | None
    """The team that tries to cancel its entries."""
    errors: list[str] = field(default_factory=list)
    begin: threading.Event = field(default_factory=threading.Event)
    """Set when the teams may begin."""
    _threads: list[threading.Thread] = field(default_factory=list)
    _reading: threading.Event = field(default_factory=threading.Event)

    def client(self, team: int) -> ApiClient:
        """A team's client, through the proxy."""
        return ApiClient(self.stack.client_url, self.accounts[team][1])

    def direct_client(self, team: int) -> ApiClient:
        """A team's client that bypasses the proxy."""
        return ApiClient(self.stack.url, self.accounts[team][1])

    @contextmanager
    def running(self) -> Iterator[None]:
        """Start the teams, and wait for all of them at the end."""
        self._threads = [threading.Thread(target=self._submit_all, args=[team], daemon=True) for team in self.accounts]
        reader = threading.Thread(target=self._read_boards, daemon=True)
        for thread in (*self._threads, reader):
            thread.start()
        try:
            yield
        finally:
            for thread in self._threads:
                thread.join(PATIENCE + 30)
            self._reading.set()
            reader.join(60)

    def _submit_all(self, team: int) -> None:
        self.begin.wait(PATIENCE)
        with self.client(team) as client:
            for attempt in (attempt for attempt in self.attempts if attempt.team == team):
                try:
                    self._try(client, attempt)
                except Exception as error:  # noqa: BLE001 - it becomes a violation
                    self.errors.append(f"the client of team {team} ended with {error!r}")

    def _try(self, client: ApiClient, attempt: Attempt) -> None:
        end = time.monotonic() + PATIENCE
        while attempt.refused is None and not attempt.accepted:
            try:
                attempt.accepted.add(self._send(client, attempt))
                if self.cancelling == attempt.team:
                    self._cancel(client, attempt)
            except Refused as refusal:
                if refusal.slug in {"daily-limit", "closed"} or time.monotonic() > end:
                    attempt.refused = refusal.slug or str(refusal.status)
                elif refusal.slug != "pending-limit" and not is_transient(refusal):
                    attempt.refused = refusal.slug or f"{refusal.status}: {refusal}"
                time.sleep(MAX_PAUSE / 4)

    def _send(self, client: ApiClient, attempt: Attempt) -> str:
        name = f"{attempt.key}.zip"
        if attempt.way == "tus":
            digest = hashlib.sha256(attempt.body).hexdigest()
            pending = PendingUpload(self.slug, name, len(attempt.body), attempt.key, sha256=digest)
            file = io.BytesIO(attempt.body)
            return client.run(
                upload(pending, file, lambda *_: None), sleep=lambda seconds: time.sleep(min(seconds, MAX_PAUSE))
            )
        length = str(len(attempt.body))
        headers = {"Content-Type": "application/zip", "Content-Length": length, "Idempotency-Key": attempt.key}
        path = f"/competitions/{self.slug}/submissions"
        params = {"file_name": name}
        view = client.call("POST", path, params=params, headers=headers, content=lambda: iter([attempt.body]))
        return str(view["id"])

    def _cancel(self, client: ApiClient, attempt: Attempt) -> None:
        with suppress(Refused):
            (submission,) = attempt.accepted
            attempt.cancelled = client.post(f"/submissions/{submission}/cancel")["status"] == "cancelled"

    def _read_boards(self) -> None:
        """Keep the boards in the web process's cache, which must then notice every change."""
        with ApiClient(self.stack.client_url) as client:
            while not self._reading.wait(0.1):
                with suppress(Refused):
                    client.get(f"/competitions/{self.slug}/leaderboard")


def make_traffic(stack: Stack, seed: int, **changes: Any) -> Traffic:
    """A new competition with prepared references, and teams with the entries that they will submit."""
    rng = Random(seed)
    slug = f"round-{seed}-{time.monotonic_ns()}"
    limits = {"image_count": IMAGES, "image_size": SIZE, "daily_limit": DAILY_LIMIT, "pending_limit": 2}
    body = make_spec(datetime.now(UTC), slug=slug, **(limits | changes)).model_dump(mode="json")
    stack.admin.post("/competitions", body)
    for role, images in REFERENCES:
        stack.admin.attach_references(slug, role, io.BytesIO(make_zip(noise_images(images, 80, SIZE))))
    References(stack.admin).prepare(slug, say=lambda _: None, every=0.05)
    accounts = {}
    for team in range(TEAMS):
        handle = f"{slug}-{team}"
        accounts[team] = (handle, new_token(stack.settings, handle, "participant", name=handle))
    attempts = [_attempt(rng, seed, team, number) for team in range(TEAMS) for number in range(ENTRIES)]
    cancelling = rng.choice([None, None, *range(TEAMS)])
    return Traffic(stack, slug, seed, attempts, accounts, cancelling)


def _attempt(rng: Random, seed: int, team: int, number: int) -> Attempt:
    kind: Kind = rng.choices(("valid", "damaged", "copied"), (8, 1, 1))[0]
    way: Way = rng.choice(("tus", "post"))
    source = 1 if kind == "copied" else seed * 100 + team * 10 + number + 1000
    body = make_zip(noise_images(source, IMAGES, SIZE))
    return Attempt(team, f"{seed}-{team}-{number}", kind, way, damaged(body) if kind == "damaged" else body)
