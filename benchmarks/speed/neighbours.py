"""Benchmark of the nearest-neighbour search: the closest reference image of every generated one, by cosine."""

from collections.abc import Sequence
from pathlib import Path

from benchmarks.harness.isolation import Run, Runner, Task
from benchmarks.harness.plan import BenchmarkPlan
from benchmarks.harness.report import MarkdownTable, Section, Target, mebibytes, ratio_spread, seconds, times
from benchmarks.harness.results import BenchmarkCase, BenchmarkResult
from benchmarks.harness.rounds import Contender, interleaved, median_of

NAME = "neighbours"
KENNEL, TORCHMETRICS, PRODUCT = "Kennel", "torchmetrics", "float32 matrix product alone"
TIMED = {KENNEL: ("scorer/metrics/cosine.py", "scorer/metrics/memorization.py")}
CONTENDERS = tuple(
    Contender(name, f"benchmarks.speed.neighbours_contenders:{function}")
    for name, function in (
        (KENNEL, "kennel"),
        (TORCHMETRICS, "torchmetrics"),
        ("numpy float64", "numpy_float64"),
        (PRODUCT, "product"),
    )
)


def measure(plan: BenchmarkPlan, folder: Path, run: Runner) -> list[BenchmarkCase]:
    """One case."""
    inputs = str(folder / NAME)
    sizes = {"dimension": plan.neighbours, "count": plan.generated, "reference": plan.reference}
    run(Task("benchmarks.speed.neighbours_contenders:prepare", {"folder": inputs, **sizes}))
    return [BenchmarkCase(NAME, sizes, interleaved(CONTENDERS, {"folder": inputs}, plan.rounds, run))]


METHOD = """\
Synthetic, seeded features. Kennel compares in float32, decides in float64 and certifies that the result is that of
comparing all pairs in float64. The yardstick is the product of the two float32 matrices in tiles, which no exact search
without an index can do without. Peak memory is the whole process's: interpreter, libraries and features included."""


def section(result: BenchmarkResult) -> Section:
    """The table, and the targets for speed and memory."""
    (case,) = result.cases
    ours = case.runs[KENNEL]
    settings = case.settings
    rows = [
        (name, seconds(runs), f"{times(runs, ours):.2f}", _rate(case, name), _peak(case, name), _distance(case, name))
        for name, runs in case.runs.items()
    ]
    title = (
        f"{settings['count']:,} x {settings['dimension']} against {settings['reference']:,} x {settings['dimension']}"
    )
    header = ("", "seconds", "x", "GFLOP/s", "peak, MiB", "s off Kennel's by")
    return Section("Nearest neighbours", METHOD, [MarkdownTable(title, header, rows)], _targets(case), timed=TIMED)


def _rate(case: BenchmarkCase, name: str) -> str:
    operations = 2 * case.settings["count"] * case.settings["reference"] * case.settings["dimension"]
    return f"{operations / median_of(case.runs[name]) / 1e9:.0f}"


def _peak(case: BenchmarkCase, name: str) -> str:
    return mebibytes(case.runs[name]) if "peak_bytes" in case.runs[name][0] else ""


def _distance(case: BenchmarkCase, name: str) -> str:
    runs = case.runs[name]
    return (
        f"{median_of(runs, 'distance') - median_of(case.runs[KENNEL], 'distance'):+.0e}"
        if "distance" in runs[0]
        else ""
    )


def _target(claim: str, runs: Sequence[Run], ours: Sequence[Run], bound: float, unit: str = "") -> Target:
    return Target(claim, times(runs, ours), bound, True, unit, ratio_spread(runs, ours))


def _targets(case: BenchmarkCase) -> list[Target]:
    ours = case.runs[KENNEL]
    targets = [
        _target("speed of the bare matrix product that is reached", case.runs[PRODUCT], ours, 0.8),
        _target("faster than torchmetrics", case.runs[TORCHMETRICS], ours, 3, " x"),
    ]
    if "peak_bytes" in ours[0]:
        targets.append(Target("peak memory", median_of(ours, "peak_bytes") / 1e9, 1.2, False, " GB"))
    return targets
