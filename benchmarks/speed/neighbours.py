"""Benchmark of the nearest-neighbour search: mean cosine distance of generated to the closest reference features.

Only the contender that uses torch imports it, because it would add to the peak memory of all.
"""

import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.harness.isolation import THREADS, Run, Runner, Task, interleaved
from benchmarks.harness.report import Findings, MarkdownTable, Target, mebibytes, ratio_spread, seconds, times
from benchmarks.harness.results import BenchmarkCase, BenchmarkResult, compute_median
from benchmarks.harness.synthetic import features
from scorer.metrics.cosine import TILE_COLUMNS, TILE_ROWS, NormalisedFeatures, normalise
from scorer.metrics.memorization import nearest

KENNEL, TORCHMETRICS, PRODUCT = "Kennel", "torchmetrics", "float32 matrix product alone"
CONTENDERS = {
    KENNEL: "benchmarks.speed.neighbours:kennel",
    TORCHMETRICS: "benchmarks.speed.neighbours:torchmetrics",
    "numpy float64": "benchmarks.speed.neighbours:numpy_float64",
    PRODUCT: "benchmarks.speed.neighbours:product",
}
_BOTH = ("generated", "reference")


class Size(NamedTuple):
    rounds: int = 3
    dimension: int = 2048
    images: int = 10_000
    reference: int = 20_579


FULL, QUICK = Size(), Size(1, 64, 300, 600)


def measure(size: Size, folder: Path, run: Runner) -> list[BenchmarkCase]:
    inputs = str(folder)
    sizes = {"dimension": size.dimension, "count": size.images, "reference": size.reference}
    run(Task("benchmarks.speed.neighbours:prepare", {"folder": inputs, **sizes}))
    return [BenchmarkCase("neighbours", sizes, interleaved(CONTENDERS, {"folder": inputs}, size.rounds, run=run))]


def findings(result: BenchmarkResult) -> Findings:
    (case,) = result.cases
    kennel_runs = case.runs[KENNEL]
    count, reference, dimension = (case.settings[name] for name in ("count", "reference", "dimension"))
    rows = [
        (
            name,
            seconds(runs),
            f"{times(runs, kennel_runs):.2f}",
            f"{2 * count * reference * dimension / compute_median(runs) / 1e9:.0f}",
            mebibytes(runs),
            f"{compute_median(runs, 'distance') - compute_median(kennel_runs, 'distance'):+.0e}"
            if "distance" in runs[0]
            else "",
        )
        for name, runs in case.runs.items()
    ]
    title = f"{count:,} x {dimension} against {reference:,} x {dimension}"
    header = ("", "seconds", "x", "GFLOP/s", "peak, MiB", "s, difference from Kennel")
    return Findings([MarkdownTable(title, header, rows)], _targets(case))


def _targets(case: BenchmarkCase) -> list[Target]:
    kennel_runs = case.runs[KENNEL]
    bounds = {
        PRODUCT: ("speed, as a share of the bare matrix product's", 0.8, ""),
        TORCHMETRICS: ("faster than torchmetrics", 3, " x"),
    }
    targets = [
        Target(
            claim, times(case.runs[name], kennel_runs), bound, True, unit, ratio_spread(case.runs[name], kennel_runs)
        )
        for name, (claim, bound, unit) in bounds.items()
    ]
    if "peak_bytes" in kennel_runs[0]:
        targets.append(Target("peak memory", compute_median(kennel_runs, "peak_bytes") / 1e9, 1.2, False, " GB"))
    return targets


def prepare(folder: str, dimension: int, count: int, *, reference: int) -> Run:
    """Write the features of both sides, and the lengths stored with a reference."""
    destination = Path(folder)
    destination.mkdir(parents=True, exist_ok=True)
    np.save(destination / "generated.npy", features(count, dimension, 0))
    normalised = normalise(features(reference, dimension, 1))
    np.save(destination / "reference.npy", normalised.features)
    np.save(destination / "squares.npy", normalised.squares)
    return {"count": len(normalised)}


def kennel(folder: str) -> Run:
    """``nearest`` on a memory-mapped reference with its lengths, as in a worker."""
    where = Path(folder)
    generated = np.load(where / "generated.npy")
    reference = NormalisedFeatures(np.load(where / "reference.npy", mmap_mode="r"), np.load(where / "squares.npy"))
    start = time.perf_counter()
    distance = nearest(generated, reference).mean
    return {"seconds": time.perf_counter() - start, "distance": distance}


def torchmetrics(folder: str) -> Run:
    """The function inside torchmetrics' MiFID, from generated to reference, on float64 as the metric keeps features."""
    import torch  # noqa: PLC0415
    from torchmetrics.image.mifid import _compute_cosine_distance  # noqa: PLC0415

    torch.set_num_threads(THREADS)
    generated, reference = (torch.from_numpy(np.load(Path(folder) / f"{name}.npy")).double() for name in _BOTH)
    start = time.perf_counter()
    distance = float(_compute_cosine_distance(generated, reference, 2.0))
    return {"seconds": time.perf_counter() - start, "distance": distance}


def numpy_float64(folder: str) -> Run:
    """The formula as written: all pairs together, in float64."""
    generated, reference = (np.load(Path(folder) / f"{name}.npy").astype(np.float64) for name in _BOTH)
    start = time.perf_counter()
    left, right = (rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (generated, reference))
    distance = float((1 - np.abs(left @ right.T)).min(axis=1).mean())
    return {"seconds": time.perf_counter() - start, "distance": distance}


def product(folder: str) -> Run:
    """The bare float32 matrix product of the two in Kennel's tiles: a lower bound for any search without an index."""
    generated, reference = (np.load(Path(folder) / f"{name}.npy") for name in _BOTH)
    buffer = np.empty((TILE_ROWS, TILE_COLUMNS), np.float32)
    start = time.perf_counter()
    for column in range(0, len(reference), TILE_COLUMNS):
        right = reference[column : column + TILE_COLUMNS]
        for row in range(0, len(generated), TILE_ROWS):
            left = generated[row : row + TILE_ROWS]
            np.matmul(left, right.T, out=buffer[: len(left), : len(right)])
    return {"seconds": time.perf_counter() - start}
