"""Benchmark of provisional scores: errors of bfloat16 against float32 on the demo's entries, and the time saved."""

from collections.abc import Mapping
from pathlib import Path

from benchmarks.harness.isolation import Run, Runner, Task
from benchmarks.harness.plan import BenchmarkPlan
from benchmarks.harness.report import MarkdownTable, Section, Target, seconds, times
from benchmarks.harness.results import BenchmarkCase, BenchmarkResult
from benchmarks.harness.rounds import Contender, interleaved
from scorer.metrics.mifid import is_copy, mifid

NAME = "provisional"
FINAL, ROUGH = "float32", "bfloat16"
TIMED = {"": ("scorer/extractors", "deploy/demo/generators.py", "worker/scoring/measure.py")}
MODULE = "benchmarks.speed.provisional_contenders"


def measure(plan: BenchmarkPlan, folder: Path, run: Runner) -> list[BenchmarkCase]:
    """One case: the demo's entries on the demo's public network."""
    network = plan.networks[-1]
    arguments = {"folder": str(folder), "network": network}
    tau = run(Task(f"{MODULE}:prepare", arguments | {"count": plan.provisional}))["tau"]
    runs = {
        precision: interleaved(
            [Contender(precision, f"{MODULE}:measured")], arguments | {"precision": precision}, 1, run
        )[precision]
        for precision in (FINAL, ROUGH)
    }
    return [BenchmarkCase(network, {"count": plan.provisional, "tau": tau}, runs)]


def section(result: BenchmarkResult) -> Section:
    """The errors of every entry, and the targets that decide whether provisional scores are on by default."""
    case = result.cases[0]
    final, rough = case.runs[FINAL][0], case.runs[ROUGH][0]
    keys = [name.partition(":")[2] for name in final if name.startswith("fid:")]
    tau = float(case.settings["tau"])
    errors = {key: _errors(final, rough, key) for key in keys}
    rows = [
        (key, f"{final[f'fid:{key}']:.4g}", f"{final[f'distance:{key}']:.4g}", f"{fid:+.2%}", f"{distance:+.2%}")
        for key, (fid, distance) in errors.items()
    ]
    table = MarkdownTable(
        f"{case.name}, {len(keys)} entries of {case.settings['count']} images",
        ("entry", "FID, float32", "distance, float32", "FID, error of bfloat16", "distance, error"),
        rows,
    )
    worst_fid = max(abs(fid) for fid, _ in errors.values())
    worst_distance = max(abs(distance) for _, distance in errors.values())
    targets = [
        Target("largest relative error of FID", 100 * worst_fid, 1, False, " %"),
        Target("largest relative error of the memorization distance", 100 * worst_distance, 1, False, " %"),
        Target("pairs of entries whose order on the board changes", _swaps(final, rough, keys, tau), 0, False),
    ]
    return Section("A provisional score", METHOD, [table, _speed(case)], targets, timed=TIMED)


METHOD = """\
The demo's entries on its public network, features in bfloat16 against features in float32; the reference is float32 for
both. An error above 1 %, or a changed order, and provisional scores stay off unless an operator asks for them
(`KENNEL_PROVISIONAL`)."""


def _errors(final: Run, rough: Run, key: str) -> tuple[float, float]:
    """Relative errors of FID and distance; 0 for the distance of a copy, which is of rounding size."""
    fid, distance = final[f"fid:{key}"], final[f"distance:{key}"]
    copy = bool(is_copy(distance))
    return rough[f"fid:{key}"] / fid - 1, 0.0 if copy else rough[f"distance:{key}"] / distance - 1


def _swaps(final: Run, rough: Run, keys: list[str], tau: float) -> int:
    """How many pairs of entries change their order on the board; copies have no place on it."""
    before, after = _scores(final, keys, tau), _scores(rough, keys, tau)
    placed = sorted(before.keys() & after.keys())
    pairs = [(a, b) for number, a in enumerate(placed) for b in placed[number + 1 :]]
    moved = len(before.keys() ^ after.keys())
    return moved + sum((before[a] < before[b]) != (after[a] < after[b]) for a, b in pairs)


def _scores(run: Mapping[str, float], keys: list[str], tau: float) -> dict[str, float]:
    """MiFID of every entry that is no copy."""
    return {
        key: mifid(run[f"fid:{key}"], run[f"distance:{key}"], tau)
        for key in keys
        if not is_copy(run[f"distance:{key}"])
    }


def _speed(case: BenchmarkCase) -> MarkdownTable:
    rows = [(precision, seconds(runs), f"{times(case.runs[FINAL], runs):.2f}") for precision, runs in case.runs.items()]
    return MarkdownTable("All entries together", ("", "seconds", "times as fast as float32"), rows)
