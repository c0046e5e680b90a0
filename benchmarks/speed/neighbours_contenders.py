"""The mean distance of generated features to the nearest reference features, by cosine.

Torch is imported only where it is timed: what it weighs would be part of everybody's peak memory.
"""

import time
from pathlib import Path

import numpy as np

from benchmarks.harness.isolation import Run
from benchmarks.harness.synthetic import features
from scorer.metrics.cosine import TILE_COLUMNS, TILE_ROWS, NormalisedFeatures, normalise
from scorer.metrics.memorization import nearest


def prepare(folder: str, dimension: int, count: int, reference: int) -> Run:
    """Write the features of both sides, and the lengths that are kept with a reference."""
    where = Path(folder)
    where.mkdir(parents=True, exist_ok=True)
    np.save(where / "generated.npy", features(count, dimension, 0))
    kept = normalise(features(reference, dimension, 1))
    np.save(where / "reference.npy", kept.features)
    np.save(where / "squares.npy", kept.squares)
    return {"count": len(kept)}


def kennel(folder: str) -> Run:
    """``nearest``, the reference being mapped with its lengths, as a worker has it."""
    where = Path(folder)
    generated = np.load(where / "generated.npy")
    reference = NormalisedFeatures(np.load(where / "reference.npy", mmap_mode="r"), np.load(where / "squares.npy"))
    start = time.perf_counter()
    distance = nearest(generated, reference).mean
    return {"seconds": time.perf_counter() - start, "distance": distance}


def torchmetrics(folder: str) -> Run:
    """The function inside its MiFID, the right way round, on float64 as the metric holds its features."""
    import torch  # noqa: PLC0415 - see above
    from torchmetrics.image.mifid import _compute_cosine_distance  # noqa: PLC0415

    from benchmarks.harness.isolation import THREADS  # noqa: PLC0415

    torch.set_num_threads(THREADS)
    generated, reference = (torch.from_numpy(np.load(Path(folder) / f"{each}.npy")).double() for each in _BOTH)
    start = time.perf_counter()
    distance = float(_compute_cosine_distance(generated, reference, 2.0))
    return {"seconds": time.perf_counter() - start, "distance": distance}


def numpy_float64(folder: str) -> Run:
    """The formula as it is written: all pairs at once, in float64."""
    generated, reference = (np.load(Path(folder) / f"{each}.npy").astype(np.float64) for each in _BOTH)
    start = time.perf_counter()
    left, right = (each / np.linalg.norm(each, axis=1, keepdims=True) for each in (generated, reference))
    distance = float((1 - np.abs(left @ right.T)).min(axis=1).mean())
    return {"seconds": time.perf_counter() - start, "distance": distance}


def product(folder: str) -> Run:
    """This machine's float32 matrix product of the two in Kennel's tiles, and nothing else."""
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
