"""Benchmark of evidence: all tests for copying of one submission, each alone and all together."""

from collections.abc import Sequence
from pathlib import Path

from benchmarks.harness.isolation import Run, Runner, Task
from benchmarks.harness.plan import BenchmarkPlan
from benchmarks.harness.report import MarkdownTable, Section, Target, mebibytes, seconds
from benchmarks.harness.results import BenchmarkCase, BenchmarkResult
from benchmarks.harness.rounds import Contender, interleaved, median_of
from benchmarks.speed.evidence_contenders import OF_TEST
from scorer.metrics.sample_quality.prd import CLUSTERINGS

NAME = "evidence"
REFERENCES = "what belongs to the references, once"
"""Runs in the first round only: it stores what it makes, and a later run would load that."""
CONTENDERS = tuple(
    Contender(name, f"benchmarks.speed.evidence_contenders:{function}", 1 if name == REFERENCES else None)
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
        (REFERENCES, "references"),
        ("all of an entry's evidence, in one process", "all_tests"),
    )
)
ALL = CONTENDERS[-1].name
COPYING = (
    *("authenticity", "cells", "data_copying", "internal_duplicates", "membership_inference", "ndb"),
    *("near_duplicates", "near_hashes", "partial_copying", "perceptual_hashes", "relative_distances", "thumbnails"),
)
"""Modules of tests of copying; the others are of audits, and of images that entries share."""
TIMED = {
    "": (
        *("scorer/metrics/sample_quality", "worker/evidence"),
        *(f"scorer/metrics/copying/{name}.py" for name in COPYING),
        *("scorer/metrics/cosine.py", "scorer/metrics/euclidean.py", "scorer/metrics/features.py"),
        *("scorer/metrics/memorization.py", "scorer/metrics/pairing.py", "scorer/metrics/paired_cosines.py"),
        *("scorer/metrics/threads.py", "scorer/metrics/statistics/class_separation.py"),
        *("scorer/metrics/statistics/mann_whitney.py", "scorer/metrics/statistics/subsampling.py"),
    )
}
SECONDS, FIRST_SECONDS = 90, 45
NOTABLE = 0.05
"""Seconds: tests that take less share a row."""
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
own, then all of them in one, as a worker composes them: with what several tests share found in two passes over all
pairs, and with the search for the nearest training image that the score has made already, since it is made again. That
process leaves out CMMD, which only entries in CLIP's space have: there its seconds, which the table has alone, come on
top. Peak memory includes interpreter, libraries and all features. The seconds of processors, over all threads, tell how
much of the others was waiting for a machine that had other work.

The second table has the seconds by test in that one process. `distances-within` and `distances-to-training` are the two
passes, in which closeness, repeats, authenticity, relative distances, membership, two-sample, KID and overlap are
found. The tests of the first version are all but the newer ones, with one clustering of PRD."""
NEWER = ("perceptual-hashes", "relative-distances", "membership", "cmmd", "likelihood", "diversity")
"""Tests that the first version of evidence did not have; it clustered once for PRD."""


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
    tables = [MarkdownTable(title, ("", "seconds", "of processors", "peak, MiB"), rows)]
    if by_test := _by_test(together):
        first = sum(value for test, value in by_test.items() if test not in NEWER)
        first -= by_test["prd"] * (CLUSTERINGS - 1) / CLUSTERINGS
        targets.append(Target("the tests of its first version", first, FIRST_SECONDS, False, " s"))
        tables.append(_table_by_test(by_test))
    if "peak_bytes" in together[0]:
        targets.append(Target("its peak memory", median_of(together, "peak_bytes") / 1e9, GIGABYTES, False, " GB"))
    return Section("Evidence", METHOD, tables, targets, timed=TIMED)


def _by_test(runs: Sequence[Run]) -> dict[str, float]:
    """The median seconds of each test, of those that take any; none of a result that was measured without them."""
    names = [name for name in runs[0] if name.startswith(OF_TEST)]
    return {name.removeprefix(OF_TEST): median_of(runs, name) for name in names}


def _table_by_test(seconds_by_test: dict[str, float]) -> MarkdownTable:
    ordered = sorted(seconds_by_test.items(), key=lambda pair: -pair[1])
    rows = [(test, f"{value:.2f}") for test, value in ordered if value >= NOTABLE]
    rest = sum(value for _, value in ordered if value < NOTABLE)
    return MarkdownTable("Seconds by test, in one process", ("", "seconds"), [*rows, ("all others", f"{rest:.2f}")])
