"""Benchmark of loading a prepared reference in a worker: mapped, and read."""

from pathlib import Path

from benchmarks.harness.isolation import Runner, Task
from benchmarks.harness.plan import BenchmarkPlan
from benchmarks.harness.report import MarkdownTable, Section, Target, seconds
from benchmarks.harness.results import BenchmarkCase, BenchmarkResult
from benchmarks.harness.rounds import Contender, interleaved, median_of

NAME = "references"
KENNEL = "Kennel"
TIMED = {"": ("scorer/blobs", "worker/scoring/reference_features.py")}
WORKER = Contender(KENNEL, "benchmarks.speed.tracks_contenders:load")


def measure(plan: BenchmarkPlan, folder: Path, run: Runner) -> list[BenchmarkCase]:
    """One case for each dimension."""
    cases = []
    for dimension in plan.dimensions:
        arguments = {"folder": str(folder / NAME), "key": f"d{dimension}"}
        sizes = {"dimension": dimension, "reference": plan.reference}
        run(Task("benchmarks.speed.tracks_contenders:prepare_reference", arguments | sizes))
        cases.append(BenchmarkCase(f"d = {dimension}", sizes, interleaved([WORKER], arguments, plan.rounds, run)))
    return cases


METHOD = """\
Features, their lengths, mean, covariance and factor are mapped from the store. *Read* goes on to touch every byte,
which scoring does only as it needs them; the files are in the system's cache, as on a worker that is at work."""


def section(result: BenchmarkResult) -> Section:
    """The table, and for each dimension a target on the longer of the two times."""
    rows = [
        (
            f"{case.name}, {case.settings['reference']:,} images",
            f"{median_of(case.runs[KENNEL], 'bytes') / 2**20:,.0f}",
            f"{1000 * median_of(case.runs[KENNEL]):.1f}",
            seconds(case.runs[KENNEL], "read_seconds"),
        )
        for case in result.cases
    ]
    targets = [
        Target(f"{case.name}: mapped and read", median_of(case.runs[KENNEL], "read_seconds"), 1, False, " s")
        for case in result.cases
    ]
    table = MarkdownTable("", ("", "MiB", "mapped, ms", "mapped and read, s"), rows)
    return Section("Loading a prepared reference", METHOD, [table], targets, timed=TIMED)
