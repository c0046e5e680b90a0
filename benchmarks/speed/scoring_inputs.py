"""The inputs of the scoring benchmark: a zip, and a reference with its statistics."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness.isolation import Run
from benchmarks.harness.networks import find_extractor_spec, load_extractor, write_weights
from benchmarks.speed.tracks import store_reference
from deploy.demo.photographs import bundled_photographs
from scorer.archive import hash_pixels, mirror_images, write_images

SEED = 2019


def prepare(folder: str, network: str, count: int, *, reference_count: int, source_count: int) -> Run:
    """Write ``submission.zip``, weights, and the reference in the product's form and in the peers'.

    The submission is the first ``count`` tiles of the demo's photographs. The reference is ``reference_count`` rows
    made from the features of ``source_count`` others, see :func:`blended`. Its images do not matter for speed, and
    extracting their features would take longer than the benchmark.
    """
    destination = Path(folder)
    spec = find_extractor_spec(network)
    destination.mkdir(parents=True, exist_ok=True)
    write_weights(spec, destination)
    submission, others = _tiles(count, source_count)
    with (destination / "submission.zip").open("wb") as file:
        write_images(submission, file)
    features = blended(load_extractor(spec, destination).features(others), reference_count, np.random.default_rng(SEED))
    store_reference(destination, "reference", features)
    np.save(destination / "features.npy", features)
    np.save(destination / "hashes.npy", hash_pixels(others))
    np.save(destination / "mirrored.npy", hash_pixels(mirror_images(others)))
    # The file format of pytorch-fid and clean-fid for statistics.
    np.savez(destination / "reference.npz", mu=np.mean(features, axis=0), sigma=np.cov(features, rowvar=False))
    return {"zip_bytes": (destination / "submission.zip").stat().st_size}


def blended(features: NDArray[np.float32], count: int, rng: np.random.Generator) -> NDArray[np.float32]:
    """``count`` rows (count, d), each between two of the given (n, d), with every value changed by a few per cent.

    No two rows are equal, the covariance has full rank, and non-negative features stay non-negative.
    """
    rows = np.empty((count, features.shape[1]), np.float32)
    for start in range(0, count, 1000):
        block = rows[start : start + 1000]
        first, second = (features[rng.integers(len(features), size=len(block))] for _ in range(2))
        share = rng.random((len(block), 1), np.float32)
        block[:] = (share * first + (1 - share) * second) * np.exp(0.05 * rng.standard_normal(block.shape, np.float32))
    return rows


def _tiles(count: int, others: int) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    parts = bundled_photographs(SEED)
    tiles = np.concatenate([parts.train.images, parts.held_out.images, parts.private_extra.images])
    if count + others > len(tiles):
        raise ValueError(f"there are only {len(tiles)} photographs, not {count} and {others}")
    return tiles[:count], tiles[count : count + others]
