"""Benchmark of loading a prepared reference in a worker: mapping and reading."""

import time
from pathlib import Path

import numpy as np

from benchmarks.harness.isolation import Run, Runner, Task, interleaved
from benchmarks.harness.report import Findings, MarkdownTable, Target, seconds
from benchmarks.harness.results import BenchmarkCase, BenchmarkResult, compute_median
from benchmarks.speed.frechet import FULL, QUICK, Size
from benchmarks.speed.tracks import worker_context_in
from worker.scoring.reference_features import load_prepared

__all__ = ["FULL", "QUICK"]


def measure(size: Size, folder: Path, run: Runner) -> list[BenchmarkCase]:
    cases = []
    for dimension in size.dimensions:
        arguments = {"folder": str(folder), "key": f"d{dimension}"}
        sizes = {"dimension": dimension, "reference": size.reference}
        run(Task("benchmarks.speed.tracks:prepare_reference", arguments | sizes))
        runs = interleaved({"Kennel": "benchmarks.speed.references:load"}, arguments, size.rounds, run=run)
        cases.append(BenchmarkCase(f"d = {dimension}", sizes, runs))
    return cases


def findings(result: BenchmarkResult) -> Findings:
    rows, targets = [], []
    for case in result.cases:
        runs = case.runs["Kennel"]
        mapped = f"{1000 * compute_median(runs):.1f}"
        name, mib = (
            f"{case.name}, {case.settings['reference']:,} images",
            f"{compute_median(runs, 'bytes') / 2**20:,.0f}",
        )
        rows.append((name, mib, mapped, seconds(runs, "read_seconds")))
        targets.append(Target(f"{case.name}: mapped and read", compute_median(runs, "read_seconds"), 1, False, " s"))
    return Findings([MarkdownTable("", ("", "MiB", "mapped, ms", "mapped and read, s"), rows)], targets)


def load(folder: str, key: str) -> Run:
    """Map a prepared reference (``seconds``), and read each byte once (``read_seconds``, including mapping)."""
    context = worker_context_in(Path(folder))
    start = time.perf_counter()
    reference = load_prepared(context, key, signed=False)
    mapped = time.perf_counter()
    statistics, normalised = reference.statistics, reference.normalised
    arrays = [statistics.mean, statistics.covariance, statistics.factor, normalised.features, normalised.squares]
    present = [array for array in arrays if array is not None]
    for array in present:
        np.max(array)
    end = time.perf_counter()
    return {"seconds": mapped - start, "read_seconds": end - start, "bytes": float(sum(a.nbytes for a in present))}
