"""A thousand competitions at once, on the database alone: how many entries a second it takes, and what takes long."""

import json
import os
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np
from sqlalchemy import create_engine, make_url
from sqlalchemy.orm import Session

import migrations
from benchmarks.harness.isolation import ROOT, Run
from benchmarks.harness.results import BenchmarkCase
from benchmarks.scale.thousand_runs import Step, Task, command
from benchmarks.scale.thousand_seeding import seed
from deploy.standalone.database_roles import APP
from deploy.standalone.ephemeral import ephemeral_servers
from scorer.competitions import competition_state
from scorer.db.jobs import job_queue

NAME = "scale_thousand"
START_SECONDS = 1.0
"""From the last process's word that its entries wait to the start of all."""


@dataclass(frozen=True)
class Size:
    """How many competitions, people with a team in each, and scored entries of each team there are; how many workers in
    how many processes load the database for how long, and how many entries each of them accepts before."""

    competitions: int = 1000
    people: int = 20
    entries: int = 10
    workers: int = 64
    processes: int = 4
    waiting: int = 30
    seconds: float = 60.0


FULL = Size()
QUICK = Size(competitions=5, people=3, entries=2, workers=2, processes=1, waiting=2, seconds=1.0)


def measure(size: Size) -> list[BenchmarkCase]:
    """One case: the load of all workers, and the questions that look at every competition."""
    with ephemeral_servers() as servers:
        migrations.upgrade(servers.postgres.owner_url, APP)
        url = make_url(servers.postgres.admin_url).set(database=make_url(servers.postgres.app_url).database)
        address = url.render_as_string(hide_password=False)
        seed(address, size.competitions, size.people, size.entries)
        numbers = _rates(_load(address, size), size) | {"load": os.getloadavg()[0]}
        numbers |= _questions(address)
    return [BenchmarkCase("database", dict(vars(size)), {"Kennel": [numbers | {"seconds": size.seconds}]})]


def _load(url: str, size: Size) -> list[Step]:
    threads = size.workers // size.processes
    tasks = [
        Task(url, size.competitions, size.people, threads, size.waiting, size.seconds, number)
        for number in range(size.processes)
    ]
    pipe = subprocess.PIPE
    children = [subprocess.Popen(command(task), cwd=ROOT, stdin=pipe, stdout=pipe, text=True) for task in tasks]
    lines = [(child.stdin, child.stdout) for child in children]
    for _, filled in lines:
        assert filled is not None
        filled.readline()
    start = time.monotonic() + START_SECONDS
    for told, _ in lines:
        assert told is not None
        with suppress(BrokenPipeError):  # it has failed
            told.write(f"{start}\n")
            told.flush()
    outputs = [child.communicate()[0] for child in children]
    if any(child.returncode for child in children):
        raise RuntimeError("a process that loads the database has failed")
    return [(name, seconds) for output in outputs for name, seconds in json.loads(output)]


def _rates(steps: Sequence[Step], size: Size) -> Run:
    """Entries a second, each with its seven transactions, and how long these take."""
    by_name = {name: np.array([seconds for step, seconds in steps if step == name]) for name in dict(steps)}
    numbers: Run = {
        "entries_a_second": len(by_name["accept"]) / size.seconds,
        "transactions_a_second": len(steps) / size.seconds,
        "waiting": float(size.workers * size.waiting),
    }
    for name, seconds in by_name.items():
        numbers |= {
            f"{name}_median_ms": 1000 * float(np.median(seconds)),
            f"{name}_p99_ms": 1000 * float(np.quantile(seconds, 0.99)),
        }
    return numbers


def _states_of_all(session: Session, now: datetime) -> object:
    visible = competition_state.visible_competitions(session, None, now)
    return competition_state.states_of(session, [each.id for each in visible], now)


def _questions(url: str) -> Run:
    """Seconds of what looks at every competition or every job."""
    engine = create_engine(url, connect_args={"options": "-c timezone=utc"})

    def seconds(ask: Callable[[Session], object]) -> float:
        with Session(engine) as session:
            begun = time.perf_counter()
            ask(session)
            return time.perf_counter() - begun

    now = datetime.now(UTC)
    numbers = {
        "list_seconds": seconds(lambda session: _states_of_all(session, now)),
        "due_seconds": seconds(job_queue.count_due),
    }
    engine.dispose()
    return numbers
