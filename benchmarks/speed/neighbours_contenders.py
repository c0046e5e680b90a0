"""The timed nearest-neighbour searches: mean cosine distance of generated to the nearest reference features.

Torch is imported only by the contender that uses it: it would add to the peak memory of all.
"""

import time
from pathlib import Path

import numpy as np

from benchmarks.harness.isolation import Run
from benchmarks.harness.synthetic import features
from scorer.metrics.cosine import TILE_COLUMNS, TILE_ROWS, NormalisedFeatures, normalise
from scorer.metrics.memorization import nearest


def prepare(folder: str, dimension: int, count: int, reference: int) -> Run:
    """Write the features of both sides, and the lengths stored with a reference."""
    destination = Path(folder)
    destination.mkdir(parents=True, exist_ok=True)
    np.save(destination / "generated.npy", features(count, dimension, 0))
    normalised = normalise(features(reference, dimension, 1))
    np.save(destination / "reference.npy", normalised.features)
    np.save(destination / "squares.npy", normalised.squares)
    return {"count": len(normalised)}


def kennel(folder: str) -> Run:
    """``nearest`` on a reference that is memory-mapped with its lengths, as in a worker."""
    where = Path(folder)
    generated = np.load(where / "generated.npy")
    reference = NormalisedFeatures(np.load(where / "reference.npy", mmap_mode="r"), np.load(where / "squares.npy"))
    start = time.perf_counter()
    distance = nearest(generated, reference).mean
    return {"seconds": time.perf_counter() - start, "distance": distance}


def torchmetrics(folder: str) -> Run:
    """The function inside torchmetrics' MiFID, from generated to reference, on float64 as the metric keeps features."""
    import torch  # noqa: PLC0415 - see above
    from torchmetrics.image.mifid import _compute_cosine_distance  # noqa: PLC0415

    from benchmarks.harness.isolation import THREADS  # noqa: PLC0415

    torch.set_num_threads(THREADS)
    generated, reference = (torch.from_numpy(np.load(Path(folder) / f"{each}.npy")).double() for each in _BOTH)
    start = time.perf_counter()
    distance = float(_compute_cosine_distance(generated, reference, 2.0))
    return {"seconds": time.perf_counter() - start, "distance": distance}


def numpy_float64(folder: str) -> Run:
    """The formula as written: all pairs at once, in float64."""
    generated, reference = (np.load(Path(folder) / f"{each}.npy").astype(np.float64) for each in _BOTH)
    start = time.perf_counter()
    left, right = (each / np.linalg.norm(each, axis=1, keepdims=True) for each in (generated, reference))
    distance = float((1 - np.abs(left @ right.T)).min(axis=1).mean())
    return {"seconds": time.perf_counter() - start, "distance": distance}


def product(folder: str) -> Run:
    """The bare float32 matrix product of the two in Kennel's tiles: a lower bound for any search without an index."""
    generated, reference = (np.load(Path(folder) / f"{each}.npy") for each in _BOTH)
    buffer = np.empty((TILE_ROWS, TILE_COLUMNS), np.float32)
    start = time.perf_counter()
    for column in range(0, len(reference), TILE_COLUMNS):
        right = reference[column : column + TILE_COLUMNS]
        for row in range(0, len(generated), TILE_ROWS):
            left = generated[row : row + TILE_ROWS]
            np.matmul(left, right.T, out=buffer[: len(left), : len(right)])
    return {"seconds": time.perf_counter() - start}


_BOTH = ("generated", "reference")
