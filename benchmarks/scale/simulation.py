"""A simulated competition on a clock that jumps from one event to the next.

The web process and its answers over loopback, the database, the queue server with its messages, and every transaction
that claims or settles a job are real. Where a team would sleep or a worker compute, the clock jumps to the next
event. No time is compressed; idle time is left out.
"""

import heapq
import itertools
import random
import secrets
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Protocol

import httpx
import numpy as np

from benchmarks.load.participants import IMAGES, Participant, Rejected, noise_zip, post_zip
from benchmarks.scale.arrivals import Arrival
from benchmarks.scale.clocked_web import SharedClock
from scorer.archive import TrainingImageCopies
from scorer.jobs import leases
from scorer.jobs.broker import transaction
from scorer.lifecycle import Queue
from scorer.submissions import outcomes
from worker.maintenance.sweeper import sweep_once
from worker.runtime.context import WorkerContext
from worker.scoring.measure import HISTOGRAM_BINS, SCORER_VERSION, environment
from worker.scoring.score import MAX_CLOSEST_PAIRS

SLUG = "scale"
ZIPS = 20
LEASE = timedelta(days=1)
"""Long enough that no lease expires during a job: the database's clock is not set."""
SWEEP_SECONDS = 3600.0
RETRY_SECONDS = 60.0
"""A team's delay from the score of one entry to the repetition of a refused upload."""
NO_COPIES = TrainingImageCopies(0, 0, 0.0, np.full(IMAGES, -1))


MESSAGE_SECONDS = 10.0
"""Real time until a message counts as lost.

The service waits only a quarter of a second for the queue server. On a busy machine, a message can come after the
answer with its job.
"""


class MessageChannel(Protocol):
    def basic_get(self, queue: str, no_ack: bool = False) -> object | None: ...


def take_message(channel: MessageChannel, queue: Queue, seconds: float = MESSAGE_SECONDS) -> None:
    """Take a message from a queue with an unclaimed job; ``TimeoutError`` if none comes."""
    ends_at = time.monotonic() + seconds
    while channel.basic_get(queue.value, no_ack=True) is None:
        if time.monotonic() > ends_at:
            raise TimeoutError(f"a job of the queue {queue} has no message")
        time.sleep(0.001)


@dataclass
class Played:
    """The events so far. Moments are in seconds since the start, durations in seconds of the real clock."""

    accepted: dict[str, float] = field(default_factory=dict)
    refused: Counter[str] = field(default_factory=Counter)
    scored: dict[str, dict[str, float]] = field(default_factory=lambda: {"public": {}, "private": {}})
    durations: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    """By step."""

    @contextmanager
    def timed(self, name: str) -> Any:
        begun = time.perf_counter()
        yield
        self.durations[name].append(time.perf_counter() - begun)


@dataclass
class WorkerPool:
    """Workers that take jobs from one queue. A job ends after its service time, without real waiting."""

    queue: Queue
    workers: int
    seconds: Callable[[leases.Claim], float]
    busy: list[tuple[float, float]] = field(default_factory=list)
    """Begin and end of each period of work."""

    def __post_init__(self) -> None:
        self.free = deque(f"{self.queue}-{number}" for number in range(self.workers))
        """The names of free workers."""

    def busy_share(self, end: float) -> float:
        """The share of the workers' time up to ``end`` in which they were busy."""
        return sum(max(0.0, min(to, end) - since) for since, to in self.busy) / (self.workers * end)


class Simulation:
    """A competition with its teams and workers. ``start`` is its first moment; ``http`` is a client of the service."""

    def __init__(
        self,
        context: WorkerContext,
        clock: SharedClock,
        http: httpx.Client,
        *,
        people: Sequence[Participant],
        pools: Sequence[WorkerPool],
        start: datetime,
    ) -> None:
        self.played = Played()
        self._context, self._clock, self._http, self._people, self._start = context, clock, http, people, start
        self._pools = pools
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._order = itertools.count()
        self._now = 0.0
        self._teams: dict[str, int] = {}
        self._unclaimed: Counter[Queue] = Counter()
        """Jobs that wait for a worker, by queue."""
        self._refused: dict[int, deque[Arrival]] = defaultdict(deque)
        """By team: entries refused because of entries in progress."""
        self._zips = [noise_zip(seed) for seed in range(ZIPS)]
        self._source = random.Random(2019)
        self._environment = environment()

    def play(self, arrivals: Sequence[Arrival]) -> Played:
        """Play until every accepted entry has both scores."""
        for arrival in arrivals:
            self._schedule(arrival.at, partial(self._submit, arrival))
        self._schedule(arrivals[0].at, self._sweep)
        with self._context.broker.connection_for_read() as connection, connection.channel() as channel:
            while self._events:
                self._now, _, act = heapq.heappop(self._events)
                self._clock.set(self._start + timedelta(seconds=self._now))
                act()
                self._take_jobs(channel)
        return self.played

    def _schedule(self, at: float, act: Callable[[], None]) -> None:
        heapq.heappush(self._events, (at, next(self._order), act))

    def _submit(self, arrival: Arrival) -> None:
        person = self._people[arrival.team]
        content = self._zips[(arrival.team + arrival.number) % ZIPS]
        try:
            with self.played.timed("upload"):
                entry = post_zip(self._http, SLUG, person, content=content, key=f"{arrival.team}-{arrival.number}")
        except Rejected as refusal:
            self.played.refused[refusal.slug] += 1
            if refusal.slug == "pending-limit":
                self._refused[arrival.team].append(arrival)
            return
        self._teams[entry] = arrival.team
        self.played.accepted[entry] = self._now
        self._unclaimed[Queue.CHECK] += 1

    def _take_jobs(self, channel: MessageChannel) -> None:
        """Let free workers take messages, as Celery's would, and claim the next job for each."""
        for pool in self._pools:
            while pool.free and self._unclaimed[pool.queue]:
                take_message(channel, pool.queue)
                self._claim(pool, pool.free.popleft())

    def _claim(self, pool: WorkerPool, worker: str) -> None:
        with self.played.timed("claim"), self._transaction() as session:
            holder, now = secrets.token_hex(8), self._clock.now()
            claim = leases.claim_job(session, pool.queue, holder=holder, worker=worker, now=now, lease=LEASE)
        if claim is None:
            raise RuntimeError(f"no job of the queue {pool.queue} could be claimed")
        self._unclaimed[pool.queue] -= 1
        done_at = self._now + pool.seconds(claim)
        pool.busy.append((self._now, done_at))
        self._schedule(done_at, partial(self._finish, pool, worker, claim))

    def _finish(self, pool: WorkerPool, worker: str, claim: leases.Claim) -> None:
        pool.free.append(worker)
        if claim.job.track_id is None:
            self._pass_check(claim)
        else:
            self._record_score(claim)

    def _pass_check(self, claim: leases.Claim) -> None:
        with self.played.timed("record"), self._transaction() as session:
            pixels, sprite = secrets.token_hex(32), f"sprites/{claim.submission_id}.png"
            now = self._clock.now()
            outcomes.pass_check(session, claim, NO_COPIES, pixels_sha256=pixels, sprite_key=sprite, now=now)
        self._unclaimed[Queue.SCORE] += 1  # on the public track

    def _record_score(self, claim: leases.Claim) -> None:
        measured = self._measurement(claim)
        with self.played.timed("record"), self._transaction() as session:
            recorded = outcomes.record_measurement(session, claim, measured, now=self._clock.now())
        entry = claim.submission_id
        if not recorded or entry is None:
            raise RuntimeError(f"the score of {entry} was not recorded")
        self.played.scored["public" if claim.public else "private"][entry] = self._now
        if claim.public:
            self._unclaimed[Queue.SCORE] += 1  # on the private track
            with self.played.timed("board"):
                self._http.get(f"/api/v1/competitions/{SLUG}/leaderboard").raise_for_status()
            refused = self._refused[self._teams[entry]]
            if refused:
                self._schedule(self._now + RETRY_SECONDS, partial(self._submit, refused.popleft()))

    def _sweep(self) -> None:
        with self.played.timed("sweep"):
            sweep_once(self._context)
        if self._events:
            self._schedule(self._now + SWEEP_SECONDS, self._sweep)

    def _transaction(self) -> AbstractContextManager[Any]:
        return transaction(self._context.sessions, self._context.broker)

    def _measurement(self, claim: leases.Claim) -> outcomes.NewMeasurement:
        """A measurement with random numbers, as long as that of a real network."""
        draw = self._source.uniform
        name = f"{secrets.token_hex(4)}/n02085620_10074.jpg.png"
        pairs = [
            {"image": f"{image:05}.png", "reference": image, "reference_name": name, "distance": draw(0, 1)}
            for image in range(MAX_CLOSEST_PAIRS)
        ]
        counts = [self._source.randrange(1000) for _ in range(HISTOGRAM_BINS)]
        return outcomes.NewMeasurement(
            scorer_version=SCORER_VERSION,
            fid=draw(20, 300),
            memorization_distance=draw(0, 0.5),
            distance_se=0.001,
            closest_pairs=pairs,
            histogram={"counts": counts, "top": 1.0},
            artifact_key=f"measurements/{claim.submission_id}/{claim.job.track_id}-{claim.job.id}-{claim.holder}.npz",
            provenance=self._environment
            | {"zip_sha256": secrets.token_hex(32), "reference": secrets.token_hex(32), "seconds": draw(5, 100)},
        )
