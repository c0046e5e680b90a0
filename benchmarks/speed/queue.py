"""Benchmark of the job queue: claims per second and fairness of many workers on a long queue."""

import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import psycopg2
from sqlalchemy import Engine, create_engine, make_url, text
from sqlalchemy.orm import Session

from benchmarks.harness.isolation import Run, Runner, interleaved, meet, run_together
from benchmarks.harness.report import Findings, MarkdownTable, Target
from benchmarks.harness.results import BenchmarkCase, BenchmarkResult, compute_median, compute_spread
from benchmarks.harness.seeding import execute_each, migrated_servers, tiny_spec, vacuum
from scorer.accounts import accounts
from scorer.acting import Acting
from scorer.competitions import competition_state, setup
from scorer.db.tables import Submission
from scorer.jobs import leases
from scorer.lifecycle import Queue


class Size(NamedTuple):
    """Waiting jobs, finished jobs, and the workers and processes that claim them."""

    rounds: int = 3
    waiting: int = 10_000
    finished: int = 1_000_000
    workers: int = 64
    processes: int = 4


FULL, QUICK = Size(), Size(1, 200, 1000, 4)


def measure(size: Size, folder: Path, run: Runner) -> list[BenchmarkCase]:
    del folder
    settings = {name: value for name, value in size._asdict().items() if name != "rounds"}
    runs = interleaved({"Kennel": "benchmarks.speed.queue:claim_all"}, settings, size.rounds, run=run)
    return [BenchmarkCase("claims", settings, runs)]


def findings(result: BenchmarkResult) -> Findings:
    (case,) = result.cases
    runs = case.runs["Kennel"]
    claims, bare = compute_median(runs, "claims_per_second"), compute_median(runs, "bare_per_second")
    lead = compute_spread(runs, "largest_lead").maximum
    rows = [
        ("jobs queued a second, in sequence", f"{compute_median(runs, 'added_per_second'):,.0f}"),
        ("claims a second", f"{claims:,.0f}"),
        ("claims a second with bare SQL", f"{bare:,.0f}"),
        ("bare SQL, as a multiple of Kennel", f"{bare / claims:.2f}"),
        ("claim and finish, 99th percentile, ms", f"{compute_median(runs, 'claim_p99_ms'):,.0f}"),
        ("largest lead of a team", f"{lead:.0f}"),
    ]
    size = "{waiting:,} waiting, {finished:,} done, {workers} workers".format(**case.settings)
    return Findings([MarkdownTable(size, ("", ""), rows)], [Target("largest lead of a team", lead, 3, False)])


COMPETITIONS = 4
BUSY_SHARE = 0.5
"""The share of a competition's entries that belong to its busiest team. They come first."""
LEASE = timedelta(seconds=60)

SEED = """
INSERT INTO teams (competition_id, name, benchmark, created_at)
SELECT :competition, 'Team ' || n, false, now() FROM generate_series(1, :teams) AS n;

INSERT INTO submissions (id, competition_id, team_id, account_id, file_name, bytes, sha256, note, blob_key, status,
                         accepted_at, late)
SELECT 'queue-' || :competition || '-' || n, :competition,
       (SELECT min(id) FROM teams WHERE competition_id = :competition)
           + CASE WHEN n <= :busy THEN 0 ELSE 1 + n % (:teams - 1) END,
       :account, 'entry.zip', 1, md5(n::text), '', '', 'received', now(), false
FROM generate_series(1, :entries) AS n;
"""
HISTORY = """
INSERT INTO jobs (queue, submission_ref, team_id, state, priority, turn, due_at, attempts, created_at, finished_at)
SELECT 'check', submission.ref, submission.team_id, 'done', 0, 0, now(), 1, now(), now()
FROM (SELECT ref, team_id FROM submissions ORDER BY ref LIMIT 1) AS submission, generate_series(1, :finished)
"""
BARE = """
CREATE TABLE bare (id bigint PRIMARY KEY, turn bigint NOT NULL, state text NOT NULL);
INSERT INTO bare SELECT n, n, 'waiting' FROM generate_series(1, :waiting) AS n;
CREATE INDEX ON bare (turn, id) WHERE state = 'waiting';
ANALYZE bare;
"""
BARE_CLAIM = """
UPDATE bare SET state = 'running' WHERE id = (
    SELECT id FROM bare WHERE state = 'waiting' ORDER BY turn, id LIMIT 1 FOR UPDATE SKIP LOCKED
) RETURNING id
"""


def claim_all(waiting: int, finished: int, workers: int, *, processes: int) -> Run:
    """Measure claims per second of ``workers`` in ``processes``, on ``waiting`` jobs among ``finished`` ones.

    Also measure bare SQL in the same way, and how far one team got ahead of another.
    """
    with migrated_servers() as (_, admin):
        engine = create_engine(admin, connect_args={"options": "-c timezone=utc"})
        added = _seed(engine, waiting, finished)
        with engine.connect() as connection:
            teams = {row.ref: row.team_id for row in connection.execute(text("SELECT ref, team_id FROM submissions"))}
        kennel = _run(admin, "kennel", workers, processes=processes)
        bare = _run(admin, "bare", workers, processes=processes)
        engine.dispose()
    if len(kennel) != waiting:
        raise AssertionError(f"{len(kennel)} of {waiting} jobs were claimed")
    rate = _rate(kennel)
    return {
        "seconds": waiting / rate,
        "added_per_second": added,
        "claims_per_second": rate,
        "bare_per_second": _rate(bare),
        "claim_p99_ms": 1000 * sorted(claim.finished - claim.begun for claim in kennel)[int(0.99 * waiting)],
        "largest_lead": float(largest_lead([(claim.begun, claim.committed, teams[claim.ref]) for claim in kennel])),
    }


def _seed(engine: Engine, waiting: int, finished: int) -> float:
    """Make competitions, teams and entries, and queue a job for each entry as an upload does.

    Returns the number of jobs queued per second.
    """
    now = datetime.now(UTC)
    entries = waiting // COMPETITIONS
    with Session(engine, expire_on_commit=False) as session, session.begin():
        organizer = accounts.create_account(session, handle="organizer", name="", role="organizer", now=now)
        for number in range(COMPETITIONS):
            spec = tiny_spec(f"queue-{number}", now)
            setup.create(Acting(session, organizer, now), spec)
            competition = competition_state.load_state(session, spec.slug, now).competition.id
            values = {"competition": competition, "account": organizer.id, "entries": entries, "teams": 25}
            execute_each(session, SEED, values | {"busy": int(BUSY_SHARE * entries)})
        session.execute(text(HISTORY), {"finished": finished})
        execute_each(session, BARE, {"waiting": waiting})
    vacuum(engine)
    begun = time.perf_counter()
    with Session(engine) as session:
        for submission in session.query(Submission).order_by(Submission.ref).all():
            leases.add_job(session, Queue.CHECK, submission=submission, now=now)
            session.flush()
        session.commit()
    return waiting / (time.perf_counter() - begun)


class Claimed(NamedTuple):
    """A claim of a job, in seconds of the machine's monotonic clock."""

    begun: float
    committed: float
    finished: float
    """When the job was also finished."""
    ref: int
    """The submission."""


def _run(url: str, kind: str, workers: int, *, processes: int) -> list[Claimed]:
    """Every claim of all processes. They begin at the same moment."""
    parts = run_together(_claims, [(url, kind, workers // processes)] * processes)
    return [claim for part in parts for claim in part]


def _rate(claims: Sequence[Claimed]) -> float:
    times = [claim.finished for claim in claims]
    return len(claims) / (max(times) - min(times))


def largest_lead(claims: Sequence[tuple[float, float, int]]) -> int:
    """The largest number of claims that one team had more than a team that still waited. With strict turns it is one.

    ``claims`` has for each claim when it began, when it was committed, and its team. The order of overlapping claims is
    unknown, so a lead counts only if every possible order has it.
    """
    begun, committed = (
        {team: np.sort([claim[end] for claim in claims if claim[2] == team]) for team in {claim[2] for claim in claims}}
        for end in (0, 1)
    )
    lead = 0
    for began, ended, team in claims:
        had = int(np.searchsorted(committed[team], began, side="right")) + 1
        behind = [int(np.searchsorted(times, ended)) for times in begun.values() if times[-1] > ended]
        lead = max(lead, had - min(behind, default=had))
    return lead


def _kennel_claim(engine: Engine, worker: str) -> Claimed | None:
    begun = time.monotonic()
    now = datetime.now(UTC)
    with Session(engine, expire_on_commit=False) as session, session.begin():
        claim = leases.claim_job(session, Queue.CHECK, holder=worker, worker=worker, now=now, lease=LEASE)
    if claim is None or claim.job.submission_ref is None:
        return None
    committed = time.monotonic()
    with Session(engine) as session, session.begin():
        leases.finish_job(session, claim, now)
    return Claimed(begun, committed, time.monotonic(), claim.job.submission_ref)


def _bare_claim(local: threading.local, url: str) -> Claimed | None:
    begun = time.monotonic()
    if not hasattr(local, "connection"):
        local.connection = psycopg2.connect(url)
        local.connection.autocommit = True
    with local.connection.cursor() as cursor:
        cursor.execute(BARE_CLAIM)
        row = cursor.fetchone()
        if row is None:
            return None
        committed = time.monotonic()
        cursor.execute("UPDATE bare SET state = 'done' WHERE id = %s", row)
    return Claimed(begun, committed, time.monotonic(), int(row[0]))


def _claims(url: str, kind: str, threads: int) -> list[Claimed]:
    engine = create_engine(url, pool_size=threads, connect_args={"options": "-c timezone=utc"})
    plain = make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)
    local = threading.local()
    meet()
    with ThreadPoolExecutor(threads) as pool:
        claims = [
            partial(_kennel_claim, engine, f"worker {number}")
            if kind == "kennel"
            else partial(_bare_claim, local, plain)
            for number in range(threads)
        ]
        done = [claimed for part in pool.map(lambda claim: list(iter(claim, None)), claims) for claimed in part]
    engine.dispose()
    return done
