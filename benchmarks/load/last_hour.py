"""The last hour of a competition in compressed time: 924 teams submit, wait and receive scores."""

import asyncio
import json
import random
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime

import httpx

from benchmarks.harness.results import BenchmarkCase
from benchmarks.load.last_hour_findings import Refused, ShownEstimate, Story, compute_findings, findings, read_outcome
from benchmarks.load.last_hour_plan import NETWORK_SECONDS, SERVICE_SECONDS, Attempt, draw_attempts
from benchmarks.load.participants import (
    IMAGE_SIZE,
    Participant,
    Rejected,
    add_participants,
    noise_zip,
    open_small_competition,
    read_events,
    submit_entry,
)
from benchmarks.load.service import LoadedService, Workers, running_service

__all__ = ["findings"]
SLUG = "last-hour"
HOUR = 3600.0
RETRY_SECONDS = 120.0
"""Seconds of the hour until a team tries again after a refusal for its entries in progress."""
SENDERS = 100
ZIPS = 20


@dataclass(frozen=True)
class Size:
    """The numbers of teams and scoring workers, and the seconds in which the hour is played."""

    teams: int = 924
    workers: int = 24
    played_seconds: float = 600.0
    seed: int = 2019

    @property
    def compression(self) -> float:
        return HOUR / self.played_seconds


FULL = Size()
QUICK = Size(teams=8, workers=2, played_seconds=6.0)


def measure(size: Size, *_: object) -> list[BenchmarkCase]:
    """One case: the hour, and the time until the last entries are scored."""
    ranges = {kind: (low / size.compression, high / size.compression) for kind, (low, high) in NETWORK_SECONDS.items()}
    workers = Workers(
        size.workers, "benchmarks.load.delayed_worker", {SERVICE_SECONDS: json.dumps(ranges)}, queues="score,prepare"
    )
    with running_service(workers=workers) as service:
        open_small_competition(service, SLUG, daily_limit=5, pending_limit=2)
        hour = LastHour(service, size, add_participants(service, size.teams))
        story = asyncio.run(hour.play())
        outcome = read_outcome(service.sessions, SLUG)
    numbers = compute_findings(story, outcome, size.compression)
    for kind, (shortest, longest) in NETWORK_SECONDS.items():
        numbers |= {f"{kind}_seconds_shortest": shortest, f"{kind}_seconds_longest": longest}
    return [BenchmarkCase("hour", dict(vars(size)), {"Kennel": [numbers | {"seconds": size.played_seconds}]})]


@dataclass
class LastHour:
    service: LoadedService
    size: Size
    people: Sequence[Participant]
    story: Story = field(default_factory=Story)

    async def play(self) -> Story:
        """Play the hour and wait until every accepted entry is final."""
        attempts = draw_attempts(len(self.people), self.size.played_seconds, self.size.seed)
        self._zips = [noise_zip(seed) for seed in range(ZIPS)]
        self._faulty = noise_zip(ZIPS, size=IMAGE_SIZE + 1)
        self._source = random.Random(self.size.seed)
        self._turns = [asyncio.Lock() for _ in self.people]
        self._followers: list[asyncio.Task[None]] = []
        with ThreadPoolExecutor(SENDERS) as self._senders:
            self._start = time.time()
            closes_at = datetime.fromtimestamp(self._start + self.size.played_seconds, UTC)
            self.service.admin.call("PATCH", f"/competitions/{SLUG}", json={"closes_at": closes_at.isoformat()})
            self.story.closes_at = closes_at.timestamp()
            async with asyncio.TaskGroup() as group:
                for attempt in attempts:
                    group.create_task(self._try(attempt))
        await asyncio.gather(*self._followers)
        return self.story

    async def _try(self, attempt: Attempt) -> None:
        """Submit one entry at its time. Repeat while the only problem is the limit of entries in progress."""
        await asyncio.sleep(max(0.0, self._start + attempt.at - time.time()))
        async with self._turns[attempt.team]:
            self.story.attempts += 1
            while not await self._submit(attempt):
                pause = self._source.uniform(1, 2) * RETRY_SECONDS / self.size.compression
                await asyncio.sleep(pause)

    async def _submit(self, attempt: Attempt) -> bool:
        """Submit an entry. Returns whether it needs no further try."""
        person = self.people[attempt.team]
        content = self._faulty if attempt.faulty else self._zips[(attempt.team + attempt.number) % ZIPS]
        key = f"{person.handle}-{attempt.number}"

        def send() -> tuple[float, str | Rejected]:
            sent = time.time()
            try:
                return sent, submit_entry(attempt.way, self.service.url, SLUG, person=person, content=content, key=key)
            except Rejected as refusal:
                return sent, refusal
            except (OSError, httpx.TransportError) as error:
                return sent, Rejected(0, str(error))

        sent, entry = await asyncio.get_running_loop().run_in_executor(self._senders, send)
        if isinstance(entry, Rejected):
            refused = Refused(attempt.team, sent, time.time(), entry.status, entry.slug)
            self.story.refused.append(refused)
            return not (refused.is_for_pending or refused.is_error)
        self.story.accepted[entry] = attempt
        self.story.sent[entry] = (sent, time.time())
        self._followers.append(asyncio.create_task(self._follow(entry, person)))
        return True

    async def _follow(self, entry: str, person: Participant) -> None:
        """Store every state of the entry's stream. Open the stream again if it breaks off."""
        while True:
            try:
                async for at, event in read_events(self.service.port, entry, person.token):
                    self.story.estimates.append(ShownEstimate(entry, at, event["status"], event["estimate_seconds"]))
                    if event["over"]:
                        return
            except OSError:
                self.story.broken_streams += 1
                await asyncio.sleep(1)
