"""The competition with different numbers of workers, each with its own stored result (``make scale``)."""

import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from math import ceil
from pathlib import Path

import httpx
from sqlalchemy import text

from benchmarks.harness.results import BenchmarkCase
from benchmarks.load.last_hour_findings import measure_fairness, read_outcome
from benchmarks.load.last_hour_plan import NETWORK_SECONDS
from benchmarks.load.participants import add_participants, open_small_competition
from benchmarks.load.service import NO_RATES, SCORER, WEB, LoadedService, Workers, running_service
from benchmarks.scale.arrivals import DAILY_LIMIT, DAY, DAYS, ENTRIES, TEAMS, draw_arrivals
from benchmarks.scale.clocked_web import CLOCK_FILE, LIMITED_EVERY, SharedClock
from benchmarks.scale.measured import OPENING, compute_costs, compute_findings, parts, processor_seconds
from benchmarks.scale.simulation import SLUG, Simulation, WorkerPool
from scorer.jobs.broker import create_celery_app
from scorer.lifecycle import Queue
from worker.runtime.context import WorkerContext

__all__ = ["parts"]
PENDING_LIMIT = 2
WORKERS_PER_CHECKER = 8
"""Scoring workers per checking process."""
SECONDS = {"check": 3.5, **{track: sum(ends) / 2 for track, ends in NETWORK_SECONDS.items()}}
"""Seconds of a worker on two cores for each job of an entry of 10,000 images.

The check's time is that of one limited process in HOST_STAGES.md. A result keeps the times of its measurement.
"""


@dataclass(frozen=True)
class Part:
    """A competition of 2019's shape with this many workers.

    A limited process opens one of ``limited_every`` uploads. The service opens all uploads in limited processes, but a
    process costs more than all other work of the web for an upload.
    """

    workers: int
    teams: int = TEAMS
    entries: int = ENTRIES
    days: float = DAYS
    seed: int = 2019
    limited_every: int = 16


CPU_1, CPU_4, CPU_16, CPU_64 = (Part(workers) for workers in (1, 4, 16, 64))
QUICK = Part(1, teams=4, entries=12, days=2.0, limited_every=4)


def measure(part: Part, folder: Path, *_: object) -> list[BenchmarkCase]:
    clock_file = folder / "clock"
    clock = SharedClock(clock_file)
    changed = {CLOCK_FILE: str(clock_file), LIMITED_EVERY: str(part.limited_every), "KENNEL_RATES": NO_RATES}
    with running_service(
        *(WEB, f"{SCORER}0"),
        workers=Workers(queues="prepare"),
        web="benchmarks.scale.clocked_web:served_app",
        durable=False,
        **changed,
    ) as service:
        numbers = _play(service, part, clock)
    numbers |= {f"{job}_host_seconds": value for job, value in SECONDS.items()}
    return [BenchmarkCase("cpu", dict(vars(part)), {"Kennel": [numbers]})]


def _play(service: LoadedService, part: Part, clock: SharedClock) -> dict[str, float]:
    open_small_competition(service, SLUG, daily_limit=DAILY_LIMIT, pending_limit=PENDING_LIMIT)
    people = add_participants(service, part.teams)
    tomorrow = datetime.now(UTC).date() + timedelta(days=1)
    start = datetime(tomorrow.year, tomorrow.month, tomorrow.day, tzinfo=UTC)  # its days are those of the quota
    closes_at = start + timedelta(days=part.days)
    service.admin.call("PATCH", f"/competitions/{SLUG}", json={"closes_at": closes_at.isoformat()})
    broker = create_celery_app(service.settings)
    context = WorkerContext.open(service.settings, broker, (Queue.CHECK, Queue.SCORE))
    context.now = clock.now
    checkers = WorkerPool(Queue.CHECK, ceil(part.workers / WORKERS_PER_CHECKER), lambda _: SECONDS["check"])
    scorers = WorkerPool(
        Queue.SCORE, part.workers, lambda claim: SECONDS["public"] if claim.public else SECONDS["private"]
    )
    arrivals = draw_arrivals(part.teams, part.entries, part.days, seed=part.seed)
    processors, size, begun = processor_seconds(), _database_bytes(service), time.monotonic()
    with httpx.Client(base_url=service.url, timeout=60, trust_env=False) as http:
        simulation = Simulation(context, clock, http, people=people, pools=[checkers, scorers], start=start)
        played = simulation.play(arrivals)
    took = time.monotonic() - begun
    spent = {name: seconds - processors[name] for name, seconds in processor_seconds().items()}
    spent[OPENING] *= part.limited_every
    grown = _database_bytes(service) - size
    close = part.days * DAY
    last_day = start.timestamp() + close - DAY
    scores = [job for job in read_outcome(service.sessions, SLUG).scores if job.created_at >= last_day]
    return {
        "given_up": float(len(arrivals) - len(played.accepted)),
        **compute_findings(played, scorers, close),
        **measure_fairness(scores),
        **compute_costs(played, took, spent, database_bytes=grown),
    }


def _database_bytes(service: LoadedService) -> int:
    with service.engine.connect() as connection:
        return int(connection.execute(text("SELECT pg_database_size(current_database())")).scalar_one())
