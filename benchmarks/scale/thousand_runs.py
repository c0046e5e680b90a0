"""``python -m benchmarks.scale.thousand_runs TASK``: one process of those that load the database.

Once the entries that wait are there it prints a line, and reads one: the moment at which all processes begin.
"""

import json
import random
import secrets
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from functools import partial

import numpy as np
from sqlalchemy import Engine, create_engine, select
from sqlalchemy.orm import Session

from benchmarks.scale.thousand_seeding import handle_of, slug_of
from scorer.archive import TrainingImageCopies
from scorer.blobs import ReceivedBlob
from scorer.db.tables import Account
from scorer.identifiers import new_public_id
from scorer.jobs import leases
from scorer.lifecycle import Queue
from scorer.submissions import intake, outcomes
from scorer.submissions.intake import NewSubmission

LEASE = timedelta(hours=1)
NO_COPIES = TrainingImageCopies(0, 0, 0.0, np.full(1, -1))


@dataclass(frozen=True)
class Task:
    """What one process does: so many threads, each with so many entries that wait, for so many seconds."""

    url: str
    competitions: int
    people: int
    threads: int
    waiting: int
    seconds: float
    seed: int


Step = tuple[str, float]
"""What was done, and how many seconds it took."""


def command(task: Task) -> list[str]:
    """The command that does this in a process of its own; it prints its steps as JSON."""
    return [sys.executable, "-m", "benchmarks.scale.thousand_runs", json.dumps(asdict(task))]


def steps_of(task: Task, start_of_all: Callable[[], float]) -> list[Step]:
    """Accept entries of random teams, then accept, check and score one after the other in every thread, from
    ``start_of_all`` on, which is asked once the first are there and tells a moment of the machine's monotonic clock."""
    engine = create_engine(task.url, pool_size=task.threads, connect_args={"options": "-c timezone=utc"})
    with ThreadPoolExecutor(task.threads) as pool:
        threads = [Load(engine, task, random.Random(f"{task.seed}-{number}")) for number in range(task.threads)]
        list(pool.map(Load.fill, threads))
        run = partial(Load.run, start=start_of_all())
        steps = [step for part in pool.map(run, threads) for step in part]
    engine.dispose()
    return steps


class Load:
    """A thread's work on the database."""

    def __init__(self, engine: Engine, task: Task, source: random.Random) -> None:
        self._engine, self._task, self._source = engine, task, source
        self._name = f"worker-{source.randrange(10**9)}"

    def fill(self) -> None:
        """Accept the entries that wait."""
        for _ in range(self._task.waiting):
            self._accept()

    def run(self, start: float) -> list[Step]:
        """From ``start`` on: an entry's seven transactions, of whichever entries are next, again and again."""
        steps: list[Step] = []

        def timed(name: str, act: Callable[[], leases.Claim | None]) -> leases.Claim | None:
            begun = time.monotonic()
            claim = act()
            steps.append((name, time.monotonic() - begun))
            return claim

        time.sleep(max(0.0, start - time.monotonic()))
        while time.monotonic() < start + self._task.seconds:
            timed("accept", self._accept)
            for queue in (Queue.CHECK, Queue.SCORE, Queue.SCORE):
                claim = timed("claim", partial(self._claim, queue))
                if claim is not None:
                    timed("record", partial(self._record, claim))
        return steps

    def _accept(self) -> None:
        name = secrets.token_hex(32)
        slug = slug_of(self._source.randrange(self._task.competitions))
        handle = handle_of(self._source.randrange(self._task.people))
        with Session(self._engine) as session, session.begin():
            account = session.scalars(select(Account).where(Account.handle == handle)).one()
            blob = ReceivedBlob(f"submissions/{name}.zip", 1, name)
            entry = NewSubmission("entry.zip")
            now = datetime.now(UTC)
            intake.accept(session, slug, entry, account, blob, public_id=new_public_id(), now=now, begun=now)

    def _claim(self, queue: Queue) -> leases.Claim | None:
        with Session(self._engine) as session, session.begin():
            return leases.claim_job(
                session,
                queue,
                holder=secrets.token_hex(8),
                worker=self._name,
                now=datetime.now(UTC),
                lease=LEASE,
            )

    def _record(self, claim: leases.Claim) -> None:
        now = datetime.now(UTC)
        with Session(self._engine) as session, session.begin():
            if claim.queue is Queue.CHECK:
                outcomes.pass_check(session, claim, NO_COPIES, pixels_sha256=secrets.token_hex(32), now=now)
                return
            measured = outcomes.NewMeasurement(
                scorer_version="1",
                fid=self._source.uniform(20, 300),
                memorization_distance=self._source.uniform(0, 0.5),
                distance_se=0.001,
                closest_pairs=[],
                histogram={},
                artifact_key="",
            )
            outcomes.record_measurement(session, claim, measured, now=now)


def ask_for_start() -> float:
    """Say that the entries that wait are there, and read when to begin."""
    print("filled", flush=True)
    return float(sys.stdin.readline())


if __name__ == "__main__":
    print(json.dumps(steps_of(Task(**json.loads(sys.argv[1])), ask_for_start)))
