"""The parts of ``make scale``: the competition with so many workers of a kind, each with a stored result of its own."""

import os
import time
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx
from sqlalchemy import create_engine, make_url, text

from benchmarks.harness.results import BenchmarkCase
from benchmarks.load.last_hour_findings import fairness_of, read_outcome
from benchmarks.load.participants import add_participants, reference_zips
from benchmarks.load.service import SCORER, WEB, LoadedService, Workers, open_competition, running_service
from benchmarks.scale.arrivals import DAILY_LIMIT, DAY, DAYS, ENTRIES, TEAMS, arrivals_of
from benchmarks.scale.clock import CLOCK_FILE, SharedClock
from benchmarks.scale.clocked_web import LIMITED_EVERY
from benchmarks.scale.measured import OPENING, Costs, costs_of, findings_of, processor_seconds
from benchmarks.scale.service_times import ServiceTimes, WorkerKind, numbers_of, service_times
from benchmarks.scale.simulation import IMAGE_SIZE, IMAGES, SLUG, Simulation
from benchmarks.scale.worker_pools import worker_pools
from scorer.jobs.broker import create_celery_app
from scorer.lifecycle import Queue
from worker.runtime.context import WorkerContext

PENDING_LIMIT = 2
WEB_WITH_CLOCK = "benchmarks.scale.clocked_web:served_app"


@dataclass(frozen=True)
class Part:
    """A competition of 2019's shape, of which the last ``played`` days are played with so many workers of a kind.
    ``limited_every``: of so many uploads one is opened in a limited process, as the service does with all; a process
    costs more than everything else that the web does for an upload. ``limit_seconds``: real time that it may take."""

    kind: WorkerKind
    workers: int
    teams: int = TEAMS
    entries: int = ENTRIES
    days: float = DAYS
    played: float = DAYS
    seed: int = 2019
    limited_every: int = 1
    limit_seconds: float = 12 * 3600.0

    @property
    def name(self) -> str:
        """The name of its stored result."""
        return f"scale_{self.kind}_{self.workers}"


SAMPLED = 16
"""Of so many uploads of the parts one is opened in a limited process."""
PARTS = [
    replace(part, limited_every=SAMPLED)
    for part in (Part("cpu", 1), Part("cpu", 4), Part("cpu", 16), Part("cpu", 64), Part("gpu", 1))
]


def play(part: Part) -> list[BenchmarkCase]:
    """Play a part; its one case, by the worker's kind."""
    times = service_times(part.kind)
    with TemporaryDirectory(prefix="kennel-scale-") as folder:
        clock_file = Path(folder) / "clock"
        clock = SharedClock(clock_file)
        preparing = Workers(queues="prepare")
        changed = {CLOCK_FILE: str(clock_file), LIMITED_EVERY: str(part.limited_every)}
        with running_service(
            WEB, f"{SCORER}0", workers=preparing, web=WEB_WITH_CLOCK, durable=False, **changed
        ) as service:
            numbers = _play(service, part, times, clock)
    return [BenchmarkCase(part.kind, dict(vars(part)), {"Kennel": [numbers | numbers_of(times)]})]


def _play(service: LoadedService, part: Part, times: ServiceTimes, clock: SharedClock) -> dict[str, float]:
    limits = {"daily_limit": DAILY_LIMIT, "pending_limit": PENDING_LIMIT}
    spec: dict[str, Any] = {"image_count": IMAGES, "image_size": IMAGE_SIZE, **limits}
    open_competition(service, SLUG, reference_zips(IMAGE_SIZE), **spec)
    people = add_participants(service, part.teams)
    tomorrow = datetime.now(UTC).date() + timedelta(days=1)
    start = datetime(tomorrow.year, tomorrow.month, tomorrow.day, tzinfo=UTC)  # so that its days are those of the quota
    closes_at = start + timedelta(days=part.days)
    service.admin.call("PATCH", f"/competitions/{SLUG}", json={"closes_at": closes_at.isoformat()})
    broker = create_celery_app(service.settings)
    context = WorkerContext.open(service.settings, broker, (Queue.CHECK, Queue.SCORE))
    context.now = clock.now
    pools = worker_pools(times, part.workers)
    begin = (part.days - part.played) * DAY
    arrivals = [each for each in arrivals_of(part.teams, part.entries, part.days, part.seed) if each.at >= begin]
    processors, size, begun = processor_seconds(), _database_bytes(service), time.monotonic()
    with httpx.Client(base_url=service.url, timeout=60, trust_env=False) as http:
        simulation = Simulation(context, clock, http, people, pools, start)
        played = simulation.play(arrivals, limit_seconds=part.limit_seconds)
    took = time.monotonic() - begun
    spent = {name: seconds - processors[name] for name, seconds in processor_seconds().items()}
    spent[OPENING] *= part.limited_every
    costs = Costs(took, spent, _database_bytes(service) - size, os.getloadavg()[1])
    close = part.days * DAY
    last_day = start.timestamp() + close - DAY
    scores = [job for job in read_outcome(service.sessions, SLUG).scores if job.created_at >= last_day]
    return {
        "given_up": float(len(arrivals) - len(played.accepted)),
        **findings_of(played, pools[1].devices, begin, close),
        **fairness_of(scores),
        **costs_of(played, costs),
    }


def _database_bytes(service: LoadedService) -> int:
    url = make_url(service.database_admin_url).set(database=make_url(service.settings.migration_url).database)
    engine = create_engine(url)
    with engine.connect() as connection:
        size = connection.execute(text("SELECT pg_database_size(current_database())")).scalar_one()
    engine.dispose()
    return int(size)
