"""Benchmark of the Fréchet distance, at the dimensions of Inception (2048) and NASNet (4032)."""

from pathlib import Path

from benchmarks.harness.isolation import Runner, Task
from benchmarks.harness.plan import BenchmarkPlan
from benchmarks.harness.report import MarkdownTable, Section, Target, ratio_spread, seconds, times
from benchmarks.harness.results import BenchmarkCase, BenchmarkResult
from benchmarks.harness.rounds import Contender, interleaved, median_of

NAME = "frechet"
KENNEL = "Kennel"
SQRTM, EIGVALS = "scipy sqrtm", "numpy eigvals"
LONG = 4000
"""From this dimension on a matrix square root takes minutes and runs in one round only."""
BOUNDS = {SQRTM: 12.0, EIGVALS: 2.5}
TIMED = {KENNEL: ("scorer/metrics/sample_quality/frechet.py",)}


def measure(plan: BenchmarkPlan, folder: Path, run: Runner) -> list[BenchmarkCase]:
    """One case for each dimension."""
    cases = []
    for dimension in plan.dimensions:
        inputs = str(folder / f"frechet-{dimension}")
        sizes = {"dimension": dimension, "count": plan.generated, "reference": plan.reference}
        run(Task("benchmarks.speed.frechet_contenders:prepare", {"folder": inputs, **sizes}))
        arguments = {"folder": inputs, "count": plan.reference}
        cases.append(
            BenchmarkCase(f"d = {dimension}", sizes, interleaved(_contenders(dimension), arguments, plan.rounds, run))
        )
    return cases


def _contenders(dimension: int) -> list[Contender]:
    functions = {
        KENNEL: "kennel",
        SQRTM: "scipy_sqrtm",
        EIGVALS: "numpy_eigvals",
        "torchmetrics": "torchmetrics",
        "torch-fidelity": "torch_fidelity",
    }
    max_rounds = {SQRTM: 1} if dimension >= LONG else {}
    return [
        Contender(name, f"benchmarks.speed.frechet_contenders:{function}", max_rounds.get(name))
        for name, function in functions.items()
    ]


METHOD = """\
Synthetic, seeded features, non-negative and with a spectrum that falls like a power of the rank. *Per submission* is
from its features to the distance, *from statistics* from mean and covariance of both sides; the reference's statistics
are given to everybody, and its factor to Kennel, which keeps it with them."""


def section(result: BenchmarkResult) -> Section:
    """A table and two targets for each dimension. Targets are of the distance alone: all contenders compute the same
    covariance."""
    targets = [target for case in result.cases for target in _targets(case)]
    return Section("Fréchet distance", METHOD, [_table(case) for case in result.cases], targets, timed=TIMED)


def _table(case: BenchmarkCase) -> MarkdownTable:
    ours = case.runs[KENNEL]
    rows = [
        (
            name,
            seconds(runs),
            f"{times(runs, ours):.1f}",
            seconds(runs, "distance_seconds"),
            f"{times(runs, ours, 'distance_seconds'):.1f}",
            f"{median_of(runs, 'fid') / median_of(ours, 'fid') - 1:+.0e}",
        )
        for name, runs in case.runs.items()
    ]
    settings = case.settings
    title = f"{case.name}, {settings['count']:,} images, a reference of {settings['reference']:,}"
    header = ("", "per submission, s", "x", "from statistics, s", "x", "off Kennel's value by")
    return MarkdownTable(title, header, rows, case.name)


def _targets(case: BenchmarkCase) -> list[Target]:
    ours = case.runs[KENNEL]
    return [
        Target(
            f"{case.name}: faster than {name}",
            times(case.runs[name], ours, "distance_seconds"),
            bound,
            True,
            " x",
            ratio_spread(case.runs[name], ours, "distance_seconds"),
        )
        for name, bound in BOUNDS.items()
    ]
