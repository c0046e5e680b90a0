"""A competition that is played in the order of its events, on a clock that jumps from one to the next.

Real are the web process and its answers over loopback, the database, the queue server with its messages, and every
transaction by which jobs are claimed and settled. Nobody waits: where a team would sleep or a worker compute, the clock
is set to the next event instead. So no time is compressed; time in which nothing happens is left out.
"""

import heapq
import itertools
import logging
import random
import secrets
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import httpx
import numpy as np

from benchmarks.load.participants import Participant, Rejected, noise_zip, post_zip
from benchmarks.scale.arrivals import Arrival
from benchmarks.scale.clock import SharedClock
from benchmarks.scale.messages import Messages
from benchmarks.scale.worker_pools import WorkerPool, WorkerProcess
from scorer.archive import TrainingImageCopies
from scorer.jobs import leases
from scorer.jobs.broker import transaction
from scorer.lifecycle import Queue
from scorer.submissions import outcomes
from worker.maintenance.sweeper import sweep_once
from worker.runtime.context import WorkerContext
from worker.scoring.measure import HISTOGRAM_BINS, SCORER_VERSION
from worker.scoring.provenance import environment
from worker.scoring.score import MAX_CLOSEST_PAIRS

log = logging.getLogger(__name__)
SLUG = "scale"
IMAGES, IMAGE_SIZE = 8, 16
ZIPS = 20
LEASE = timedelta(days=1)
"""By the database's clock, which is not set: no lease of a job under way may expire."""
SWEEP_SECONDS = 3600.0
REPORTED_SWEEPS = 24
"""After so many of them the log says how far it is."""
RETRY_SECONDS = 60.0
"""After its entry is scored a team needs this long to hand in the one that was refused."""
NO_COPIES = TrainingImageCopies(0, 0, 0.0, np.full(IMAGES, -1))


@dataclass
class Played:
    """What has happened; moments in seconds since the start, durations in seconds of the real clock."""

    accepted: dict[str, float] = field(default_factory=dict)
    refused: Counter[str] = field(default_factory=Counter)
    scored: dict[str, dict[str, float]] = field(default_factory=lambda: {"public": {}, "private": {}})
    durations: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    """By what took the time."""
    lost_messages: int = 0
    """Messages of jobs that did not come and were sent again."""

    @contextmanager
    def timed(self, name: str) -> Any:
        """Keep how long the block takes."""
        begun = time.perf_counter()
        yield
        self.durations[name].append(time.perf_counter() - begun)


class Simulation:
    """A competition with its teams and workers. ``start`` is its first moment, ``http`` a client of the service."""

    def __init__(
        self,
        context: WorkerContext,
        clock: SharedClock,
        http: httpx.Client,
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
        """By team: entries that were refused because too many are in progress."""
        self._zips = [noise_zip(seed, IMAGES, IMAGE_SIZE) for seed in range(ZIPS)]
        self._source = random.Random(2019)
        self._environment = environment()

    def play(self, arrivals: Sequence[Arrival], *, limit_seconds: float) -> Played:
        """Play until every accepted entry has both scores; ``TimeoutError`` after ``limit_seconds`` of real time."""
        for arrival in arrivals:
            self._schedule(arrival.at, partial(self._hand_in, arrival))
        self._schedule(arrivals[0].at, self._sweep)
        ends_at = time.monotonic() + limit_seconds
        with self._context.broker.connection_for_read() as connection, connection.channel() as channel:
            messages = Messages(channel, partial(sweep_once, self._context))
            while self._events:
                self._now, _, act = heapq.heappop(self._events)
                self._clock.set(self._start + timedelta(seconds=self._now))
                act()
                self._take_jobs(messages)
                if time.monotonic() > ends_at:
                    raise TimeoutError(f"not played within {limit_seconds:.0f} s: {self._now / 86_400:.1f} days were")
        self.played.lost_messages = messages.lost
        return self.played

    def _schedule(self, at: float, act: Callable[[], None]) -> None:
        heapq.heappush(self._events, (at, next(self._order), act))

    def _hand_in(self, arrival: Arrival) -> None:
        person = self._people[arrival.team]
        content = self._zips[(arrival.team + arrival.number) % ZIPS]
        try:
            with self.played.timed("upload"):
                entry = post_zip(self._http, SLUG, person, content, f"{arrival.team}-{arrival.number}")
        except Rejected as refusal:
            self.played.refused[refusal.slug] += 1
            if refusal.slug == "pending-limit":
                self._refused[arrival.team].append(arrival)
            return
        self._teams[entry] = arrival.team
        self.played.accepted[entry] = self._now
        self._unclaimed[Queue.CHECK] += 1

    def _take_jobs(self, messages: Messages) -> None:
        """Let free processes take messages, as Celery's would, and claim for each the job that is next."""
        for pool in self._pools:
            while pool.free and self._unclaimed[pool.queue]:
                messages.take(pool.queue)
                self._claim(pool, pool.free.popleft())

    def _claim(self, pool: WorkerPool, process: WorkerProcess) -> None:
        with self.played.timed("claim"), self._transaction() as session:
            claim = leases.claim_job(
                session,
                pool.queue,
                holder=secrets.token_hex(8),
                worker=process.name,
                now=self._clock.now(),
                lease=LEASE,
            )
        if claim is None:
            raise RuntimeError(f"no job of the queue {pool.queue} could be claimed")
        self._unclaimed[pool.queue] -= 1
        done_at = process.finish(pool.seconds(claim), self._now)
        self._schedule(done_at, partial(self._finish, pool, process, claim))

    def _finish(self, pool: WorkerPool, process: WorkerProcess, claim: leases.Claim) -> None:
        pool.free.append(process)
        if claim.track_id is None:
            self._pass_check(claim)
        else:
            self._record_score(claim)

    def _pass_check(self, claim: leases.Claim) -> None:
        with self.played.timed("record"), self._transaction() as session:
            outcomes.pass_check(
                session,
                claim,
                NO_COPIES,
                pixels_sha256=secrets.token_hex(32),
                sprite_key=f"sprites/{claim.submission_id}.png",
                now=self._clock.now(),
            )
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
            self._look_at_board()
            refused = self._refused[self._teams[entry]]
            if refused:
                self._schedule(self._now + RETRY_SECONDS, partial(self._hand_in, refused.popleft()))

    def _look_at_board(self) -> None:
        with self.played.timed("board"):
            self._http.get(f"/api/v1/competitions/{SLUG}/leaderboard").raise_for_status()

    def _sweep(self) -> None:
        with self.played.timed("sweep"):
            sweep_once(self._context)
        if (sweeps := len(self.played.durations["sweep"])) % REPORTED_SWEEPS == 0:
            log.info("after %s hours %s entries are accepted", sweeps, f"{len(self.played.accepted):,}")
        if self._events:
            self._schedule(self._now + SWEEP_SECONDS, self._sweep)

    def _transaction(self) -> AbstractContextManager[Any]:
        return transaction(self._context.sessions, self._context.broker)

    def _measurement(self, claim: leases.Claim) -> outcomes.NewMeasurement:
        """A measurement of random numbers, as long as one of a real network."""
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
            artifact_key=f"measurements/{claim.submission_id}/{claim.track_id}-{claim.job_id}-{claim.holder}.npz",
            provenance=self._environment
            | {"zip_sha256": secrets.token_hex(32), "reference": secrets.token_hex(32), "seconds": draw(5, 100)},
        )
