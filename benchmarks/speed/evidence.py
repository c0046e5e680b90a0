"""Benchmark of evidence: all tests for copying of one submission, each alone and all together."""

from pathlib import Path

from benchmarks.harness.isolation import Runner, Task
from benchmarks.harness.plan import BenchmarkPlan
from benchmarks.harness.report import MarkdownTable, Section, Target, mebibytes, seconds
from benchmarks.harness.results import BenchmarkCase, BenchmarkResult
from benchmarks.harness.rounds import Contender, interleaved, median_of

NAME = "evidence"
CONTENDERS = tuple(
    Contender(name, f"benchmarks.speed.evidence_contenders:{function}")
    for name, function in (
        ("standard error of FID", "frechet_error"),
        ("FID-infinity", "frechet_limit"),
        ("KID, the sums over the training images stored", "kid"),
        ("CMMD, of 768 dimensions", "clip_distance"),
        ("FLD and its gap", "likelihood"),
        ("Vendi score and RKE", "diversity"),
        ("precision, recall, density, coverage, with errors", "overlap"),
        ("authenticity", "authenticity"),
        ("two-sample nearest neighbour", "two_sample"),
        ("three-sample kernel test", "relative_mmd"),
        ("PRD, ten clusterings", "prd"),
        ("100 bins: NDB, Jensen-Shannon", "binning"),
        ("data-copying, 20 cells", "data_copying"),
        ("near copies of mirrored training images", "near_copies"),
        ("repeats within the entry", "repeats"),
        ("what belongs to the references, once", "references"),
        ("all of an entry's evidence, in one process", "all_tests"),
    )
)
ALL = CONTENDERS[-1].name
TIMED = {
    "": (
        *("scorer/metrics/copying", "scorer/metrics/sample_quality", "scorer/metrics/euclidean.py"),
        "worker/evidence",
    )
}
SECONDS = 180
GIGABYTES = 2


def measure(plan: BenchmarkPlan, folder: Path, run: Runner) -> list[BenchmarkCase]:
    """One case."""
    inputs = str(folder / NAME)
    sizes = {"dimension": plan.neighbours, "count": plan.generated, "reference": plan.reference}
    sizes |= {"held_out": max(120, plan.generated // 5)}
    run(Task("benchmarks.speed.evidence_contenders:prepare", {"folder": inputs, **sizes}))
    return [BenchmarkCase(NAME, sizes, interleaved(CONTENDERS, {"folder": inputs}, plan.rounds, run))]


METHOD = """\
Synthetic, seeded features. What belongs to the references alone (statistics, neighbours of training images, bins,
cells, distances of the held-out images) is prepared once and mapped, as a worker has it; the network's features of the
mirrored training images belong to it, too, and are not measured here. Each test first runs alone, in a process of its
own, then all of them in one, as a worker composes them: with what several tests share found once, and with the search
for the nearest training image that the score has made already, since it is made again. Peak memory includes
interpreter, libraries and all features. The seconds of processors, over all threads, tell how much of the others was
waiting for a machine that had other work."""


def section(result: BenchmarkResult) -> Section:
    """The table of the tests, and the targets for time and memory."""
    (case,) = result.cases
    rows = [
        (name, seconds(runs), seconds(runs, "cpu_seconds"), mebibytes(runs) if "peak_bytes" in runs[0] else "")
        for name, runs in case.runs.items()
    ]
    together = case.runs[ALL]
    settings = case.settings
    title = (
        f"{settings['count']:,} x {settings['dimension']} against {settings['reference']:,} training and"
        f" {settings['held_out']:,} held-out images"
    )
    targets = [Target("all evidence of an entry", median_of(together), SECONDS, False, " s")]
    if "peak_bytes" in together[0]:
        targets.append(Target("its peak memory", median_of(together, "peak_bytes") / 1e9, GIGABYTES, False, " GB"))
    table = MarkdownTable(title, ("", "seconds", "of processors", "peak, MiB"), rows)
    return Section("Evidence", METHOD, [table], targets, timed=TIMED)
