"""A thousand simultaneous competitions on the database alone: entries per second, and slow steps."""

import os
import time
from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np
from sqlalchemy import create_engine
from sqlalchemy.orm import Session

from benchmarks.harness.isolation import Run, run_together
from benchmarks.harness.report import Findings, MarkdownTable
from benchmarks.harness.results import BenchmarkCase, BenchmarkResult
from benchmarks.harness.seeding import migrated_servers
from benchmarks.scale.arrivals import DAY, DAYS, ENTRIES, HOUR, entries_by_hour
from benchmarks.scale.thousand_runs import Size, Step, run_steps, seed
from scorer.acting import Acting
from scorer.competitions import competition_state
from scorer.db.jobs import job_queue

STEPS = {"accept": "accept an entry", "claim": "claim a job", "record": "record a check or a score"}
FULL = Size()
QUICK = Size(competitions=5, people=3, entries=2, workers=2, processes=1, waiting=2, seconds=1.0)


def measure(size: Size, *_: object) -> list[BenchmarkCase]:
    """One case: the load of all workers, and the queries over all competitions or all jobs."""
    with migrated_servers() as (_, address):
        seed(address, size.competitions, size.people, entries=size.entries)
        parts = run_together(run_steps, [(address, size, number) for number in range(size.processes)])
        numbers = _rates([step for part in parts for step in part], size) | {"load": os.getloadavg()[0]}
        engine, now = create_engine(address, connect_args={"options": "-c timezone=utc"}), datetime.now(UTC)
        with Session(engine) as session:
            begun = time.perf_counter()
            visible = competition_state.visible_competitions(Acting(session, None, now))
            competition_state.load_states(session, [competition.id for competition in visible], now)
            listed = time.perf_counter()
            job_queue.count_due(session)
            numbers |= {"list_seconds": listed - begun, "due_seconds": time.perf_counter() - listed}
        engine.dispose()
    return [BenchmarkCase("database", dict(vars(size)), {"Kennel": [numbers | {"seconds": size.seconds}]})]


def _rates(steps: Sequence[Step], size: Size) -> Run:
    """Entries per second, each with its seven transactions, and the times of these."""
    numbers: Run = {
        "entries_a_second": sum(name == "accept" for name, _ in steps) / size.seconds,
        "transactions_a_second": len(steps) / size.seconds,
        "waiting": float(size.workers * size.waiting),
    }
    for step in dict(steps):
        median, slowest = 1000 * np.quantile([seconds for name, seconds in steps if name == step], (0.5, 0.99))
        numbers |= {f"{step}_median_ms": float(median), f"{step}_p99_ms": float(slowest)}
    return numbers


def findings(result: BenchmarkResult) -> Findings:
    (case,) = result.cases
    run = case.numbers
    title = (
        "{competitions:,} competitions, {people} teams in each, {entries} scored entries a team; {workers} threads of"
        " {processes} processes".format(**case.settings)
    )
    rows = [
        ("entries a second, with their scores", f"{run['entries_a_second']:.1f}"),
        ("transactions a second", f"{run['transactions_a_second']:,.0f}"),
        *(
            (f"{name}, median and 99th percentile, ms", f"{run[f'{key}_median_ms']:.0f}, {run[f'{key}_p99_ms']:.0f}")
            for key, name in STEPS.items()
        ),
        ("list all competitions, s", f"{run['list_seconds']:.2f}"),
        ("count due jobs for the sweep, s", f"{run['due_seconds']:.3f}"),
        ("waiting entries", f"{run['waiting']:,.0f}"),
        ("load of the machine", f"{run['load']:.0f}"),
        (
            "average for a thousand competitions as in 2019, entries a second",
            f"{1000 * ENTRIES / (DAYS * DAY):.1f}",
        ),
        (
            "in the last hour if all have the same deadline, entries a second",
            f"{1000 * float(entries_by_hour()[-1]) / HOUR:.1f}",
        ),
    ]
    return Findings([MarkdownTable(title, ("", ""), rows)])
