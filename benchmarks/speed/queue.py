"""Benchmark of the job queue: claims a second, and fairness, of many workers on a long queue."""

from pathlib import Path

from benchmarks.harness.isolation import Runner
from benchmarks.harness.plan import BenchmarkPlan
from benchmarks.harness.report import MarkdownTable, Section, Target
from benchmarks.harness.results import BenchmarkCase, BenchmarkResult
from benchmarks.harness.rounds import Contender, interleaved, median_of, spread_of

NAME = "queue"
KENNEL = "Kennel"
TIMED = {"": ("scorer/jobs/leases.py", "scorer/db/jobs")}
QUEUE = Contender(KENNEL, "benchmarks.speed.queue_runs:measure")


def measure(plan: BenchmarkPlan, folder: Path, run: Runner) -> list[BenchmarkCase]:
    """One case: each round fills the queue anew."""
    del folder
    settings = {
        "waiting": plan.waiting_jobs,
        "finished": plan.finished_jobs,
        "workers": plan.claiming_workers,
        "processes": min(4, plan.claiming_workers),
    }
    return [BenchmarkCase("claims", settings, interleaved([QUEUE], settings, plan.rounds, run))]


METHOD = """\
Jobs of 100 teams in four competitions wait in an ephemeral PostgreSQL, beside jobs that are done; half of each
competition's are of one team, and were queued first. Workers, threads of four processes on the same machine, claim and
finish one after the other by the functions that Celery's tasks call, with a transaction for each. *Bare* is the least
that a queue in PostgreSQL can do, in the same threads: a table of three columns, `UPDATE ... FOR UPDATE SKIP LOCKED`
and an update to finish, without fairness, leases or history. The *lead* is how many more claims a team had at most than
another, of any competition, that still waited: in strict turns it is 1. Of claims at the same moment, whose order
cannot be known, the fairest is assumed."""


def section(result: BenchmarkResult) -> Section:
    """The table, with claims as a ratio to those by bare SQL."""
    (case,) = result.cases
    runs = case.runs[KENNEL]
    rows = [
        ("jobs queued a second, one after the other", f"{median_of(runs, 'added_per_second'):,.0f}"),
        ("claims a second", f"{median_of(runs, 'claims_per_second'):,.0f}"),
        ("by bare SQL", f"{median_of(runs, 'bare_per_second'):,.0f}"),
        ("bare SQL, x", f"{median_of(runs, 'bare_per_second') / median_of(runs, 'claims_per_second'):.2f}"),
        ("slowest hundredth of claims with their finish, ms", f"{median_of(runs, 'claim_p99_ms'):,.0f}"),
        ("largest lead of a team", f"{spread_of(runs, 'largest_lead').maximum:.0f}"),
    ]
    size = (
        f"{case.settings['waiting']:,} waiting, {case.settings['finished']:,} done, {case.settings['workers']} workers"
    )
    lead = Target("largest lead of a team", spread_of(runs, "largest_lead").maximum, 3, False)
    return Section("The job queue", METHOD, [MarkdownTable(size, ("", ""), rows)], [lead], timed=TIMED)
