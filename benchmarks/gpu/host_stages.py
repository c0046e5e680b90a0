"""Benchmark of what the host does for an entry beside the network: what a GPU must not wait for."""

from pathlib import Path

from benchmarks.harness.isolation import Runner, Task
from benchmarks.harness.plan import BenchmarkPlan
from benchmarks.harness.report import MarkdownTable, Section, seconds, times
from benchmarks.harness.results import BenchmarkCase, BenchmarkResult
from benchmarks.harness.rounds import Contender, interleaved

NAME = "host_stages"
DECODING = "decoding"
THREADS_ALONE = "in threads of the worker"
ONE_PROCESS = "by one limited process"
TWO_PROCESSES = "by two limited processes"
DECODERS = {THREADS_ALONE: "in_threads", ONE_PROCESS: "by_one_process", TWO_PROCESSES: "by_two_processes"}
BESIDE_PRODUCTS = "nearest neighbours, beside the products"
STORING = "hashes, thumbnails, features into the store"
TIMED = {
    **dict.fromkeys(DECODERS, ("client/kennel_client/archive", "scorer/archive")),
    BESIDE_PRODUCTS: ("scorer/metrics/cosine.py", "scorer/metrics/memorization.py"),
    STORING: (
        "scorer/archive/pixel_hashes.py",
        "scorer/metrics/copying/thumbnails.py",
        "worker/scoring/feature_cache.py",
    ),
}
STAGES = {BESIDE_PRODUCTS: "neighbours_beside_products", STORING: "storing"}


def case_of(dimension: int) -> str:
    """The name of the case of a feature space."""
    return f"d = {dimension}"


def measure(plan: BenchmarkPlan, folder: Path, run: Runner) -> list[BenchmarkCase]:
    """A case for decoding, and one for each dimension."""
    count = plan.generated
    run(Task("benchmarks.speed.tracks_contenders:prepare_submission", {"folder": str(folder), "count": count}))
    arguments = {"folder": str(folder), "count": count}
    cases = [BenchmarkCase(DECODING, {"count": count}, interleaved(_contenders(DECODERS), arguments, plan.rounds, run))]
    for dimension in plan.dimensions:
        inputs = str(folder / str(dimension))
        sizes = {"dimension": dimension, "count": count, "reference": plan.reference}
        run(Task("benchmarks.gpu.host_stages_contenders:prepare", {"folder": inputs, **sizes}))
        runs = interleaved(_contenders(STAGES), {"folder": inputs}, plan.rounds, run)
        cases.append(BenchmarkCase(case_of(dimension), sizes, runs))
    return cases


def _contenders(functions: dict[str, str]) -> list[Contender]:
    return [
        Contender(name, f"benchmarks.gpu.host_stages_contenders:{function}") for name, function in functions.items()
    ]


METHOD = """\
What is done on processors for an entry of 64 x 64 images whose features a GPU computes, beside the Fréchet distance.
*Decoding* is the whole deep check, from the zip to hashes and mapped pixels; limited processes are started for it and
end with it. *Beside the products* is what is left of the nearest neighbours where a GPU makes the shortlist: lengths,
unit rows, and the pairs of the shortlist in float64. Features are synthetic and seeded. Seconds of processors, over all
threads and processes, are what counts here: they tell what a stage takes on a core that has no other work."""


def section(result: BenchmarkResult) -> Section:
    """A table for decoding and one for each dimension."""
    return Section("The host's part of a score", METHOD, [_table(case) for case in result.cases], [], timed=TIMED)


def _table(case: BenchmarkCase) -> MarkdownTable:
    first = next(iter(case.runs.values()))
    rows = [
        (name, seconds(runs), f"{times(runs, first):.2f}", seconds(runs, "cpu_seconds"))
        for name, runs in case.runs.items()
    ]
    title = f"{case.name.capitalize() if case.name == DECODING else case.name}, {case.settings['count']:,} images"
    return MarkdownTable(title, ("", "seconds", "x", "of processors"), rows, case.name)
