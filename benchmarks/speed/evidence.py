"""Benchmark of evidence: all copying tests of one submission, as a worker runs them, with the seconds of each."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.harness.isolation import Run, Runner, Task, interleaved
from benchmarks.harness.report import Findings, MarkdownTable, Target, mebibytes, seconds
from benchmarks.harness.results import BenchmarkCase, BenchmarkResult, compute_median
from benchmarks.harness.synthetic import features
from scorer.archive import find_training_image_copies
from scorer.metrics.copying.near_hashes import hash_originals
from scorer.metrics.copying.perceptual_hashes import PerceptualHashes
from scorer.metrics.copying.thumbnails import thumbnail_originals
from scorer.metrics.sample_quality.cmmd import cmmd
from scorer.metrics.sample_quality.frechet import statistics_of
from scorer.metrics.sample_quality.likelihood_divergence import MAX_IMAGES, likelihood_reference
from worker.evidence.analysis import AnalysedEntry
from worker.evidence.reference import ReferenceAnalysis, analyse_reference
from worker.evidence.report import compute_evidence
from worker.evidence.thumbnails import ReferenceThumbnails
from worker.scoring.feature_cache import Arrays

REFERENCES = "analysis of the references, once"
"""Runs only in the first round, because later runs would load the stored result."""
ALL = "all evidence of an entry, in one process"
CONTENDERS = {
    "CMMD, 768 dimensions": "benchmarks.speed.evidence:clip_distance",
    REFERENCES: "benchmarks.speed.evidence:references",
    ALL: "benchmarks.speed.evidence:all_tests",
}
OF_TEST = "seconds of "
"""The prefix of test names in a run of all tests."""
NOTABLE = 0.05
"""Seconds. Tests that take less share a row."""
MAX_SECONDS, MAX_GIGABYTES = 90, 2
THUMBNAIL, CLIP_DIMENSION = 192, 768


class Size(NamedTuple):
    rounds: int = 3
    dimension: int = 2048
    images: int = 10_000
    reference: int = 20_579
    held_out: int = 2000


FULL, QUICK = Size(), Size(1, 64, 300, 600, 120)


def measure(size: Size, folder: Path, run: Runner) -> list[BenchmarkCase]:
    inputs, sizes = {"folder": str(folder)}, {"count": size.images, "held_out": size.held_out}
    sizes |= {"dimension": size.dimension, "reference": size.reference}
    run(Task("benchmarks.speed.evidence:prepare", inputs | sizes))
    runs = interleaved(CONTENDERS, inputs, size.rounds, run=run, max_rounds={REFERENCES: 1})
    return [BenchmarkCase("evidence", sizes, runs)]


def findings(result: BenchmarkResult) -> Findings:
    (case,) = result.cases
    rows = [(name, seconds(runs), seconds(runs, "cpu_seconds"), mebibytes(runs)) for name, runs in case.runs.items()]
    together = case.runs[ALL]
    title = "{count:,} x {dimension} against {reference:,} training and {held_out:,} held-out images".format(
        **case.settings
    )
    tables = [MarkdownTable(title, ("", "seconds", "processor seconds", "peak, MiB"), rows), _by_test(together)]
    targets = [Target("all evidence of an entry", compute_median(together), MAX_SECONDS, False, " s")]
    if "peak_bytes" in together[0]:
        targets.append(
            Target("its peak memory", compute_median(together, "peak_bytes") / 1e9, MAX_GIGABYTES, False, " GB")
        )
    return Findings(tables, targets)


def _by_test(runs: Sequence[Run]) -> MarkdownTable:
    names = [name for name in runs[0] if name.startswith(OF_TEST)]
    ordered = sorted(
        ((name.removeprefix(OF_TEST), compute_median(runs, name)) for name in names), key=lambda row: -row[1]
    )
    rows = [(test, f"{value:.2f}") for test, value in ordered if value >= NOTABLE]
    rest = sum(value for _, value in ordered if value < NOTABLE)
    return MarkdownTable("Seconds per test, in one process", ("", "seconds"), [*rows, ("all others", f"{rest:.2f}")])


def prepare(folder: str, dimension: int, count: int, *, reference: int, held_out: int) -> Run:
    sets = {"generated": count, "training": reference, "held_out": held_out, "mirrored": reference}
    for stream, (name, rows) in enumerate(sets.items()):
        np.save(Path(folder) / f"{name}.npy", features(rows, dimension, stream))
    return {"count": reference}


def _features(folder: str, *names: str) -> list[Any]:
    return [np.load(Path(folder) / f"{name}.npy", mmap_mode="r") for name in names]


def _timed(test: Callable[[], float]) -> Run:
    start, cpu_start = time.perf_counter(), time.process_time()
    value = test()
    return {"seconds": time.perf_counter() - start, "cpu_seconds": time.process_time() - cpu_start, "value": value}


def clip_distance(folder: str) -> Run:
    """CMMD with CLIP's number of dimensions. Only entries in CLIP's feature space need it."""
    own, training = (np.array(rows[:, :CLIP_DIMENSION]) for rows in _features(folder, "generated", "training"))
    return _timed(lambda: cmmd(own, training).value)


def references(folder: str) -> Run:
    """Compute and store the analysis of the references, without extracting features."""
    return _timed(lambda: float(len(_reference_analysis(folder).training)))


def all_tests(folder: str) -> Run:
    reference = _reference_analysis(folder)
    (training,) = _features(folder, "training")
    statistics = statistics_of(np.array(training))
    generated = np.load(Path(folder) / "generated.npy")
    hashes = np.arange(4 * len(generated), dtype=np.uint32).view(np.uint8).reshape(len(generated), -1)
    names = [f"{row:06}.png" for row in range(max(len(generated), len(reference.training)))]
    entry = AnalysedEntry(
        names=names,
        extractor="inception_v3",
        features=generated,
        thumbnails=features(len(generated), THUMBNAIL, 4),
        perceptual_hashes=_perceptual_hashes(len(generated), 2),
        hashes=hashes,
        mirrored_hashes=hashes + 1,
        copies=find_training_image_copies(hashes, hashes[:0], hashes[:0]),
        logits=generated[:, : min(1000, generated.shape[1])],
        fid=1.0,
        distance=0.1,
        distance_se=None,
    )
    by_test: dict[str, float] = {}

    def evidence() -> float:
        report = compute_evidence(entry, reference, statistics, reference_names=names, seed=0, progress=lambda _: None)
        by_test.update(report.seconds)
        return float(len(report.findings))

    return _timed(evidence) | {f"{OF_TEST}{test}": value for test, value in by_test.items()}


def _reference_thumbnails(folder: str) -> ReferenceThumbnails:
    """Synthetic thumbnails of the references; real ones would take as long as reading the images."""
    training, mirrored, held_out = (
        features(len(rows), THUMBNAIL, stream)
        for stream, rows in enumerate(_features(folder, "training", "mirrored", "held_out"), 5)
    )
    hashes = _perceptual_hashes(len(training), 0)
    by_hash = hash_originals(_perceptual_hashes(len(held_out), 1), hashes).distance
    distances = thumbnail_originals(held_out, training, mirrored).distance
    return ReferenceThumbnails(training, mirrored, hashes, distances, by_hash)


def _perceptual_hashes(count: int, stream: int) -> PerceptualHashes:
    """Synthetic perceptual hashes (count, 8) of dissimilar images."""
    return np.random.default_rng([stream, count]).integers(0, 1 << 32, (count, 8), np.uint32)


def _reference_analysis(folder: str) -> ReferenceAnalysis:
    def cache(name: str, make: Callable[[], Arrays]) -> Arrays:
        path = Path(folder) / f"analysis-{name}.npz"
        if not path.exists():
            np.savez(path, allow_pickle=False, **make())
        with np.load(path, allow_pickle=False) as arrays:
            return dict(arrays)

    training, mirrored, held_out, generated = _features(folder, "training", "mirrored", "held_out", "generated")
    thumbnails = _reference_thumbnails(folder)
    reference = analyse_reference(
        training, mirrored, held_out, thumbnails=thumbnails, signed=False, cache=cache, progress=lambda _: None
    )
    reference.likelihood_baseline(
        likelihood_reference(training, held_out, min(MAX_IMAGES, len(generated), len(held_out)))
    )
    return reference
