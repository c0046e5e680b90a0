"""The timed stages of the host: each returns ``seconds`` and, over all threads and processes, ``cpu_seconds``."""

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks.harness.isolation import Run
from benchmarks.harness.processor_time import timed
from benchmarks.speed import neighbours_contenders
from benchmarks.speed.tracks_contenders import SIZE
from scorer.archive import ImageSpec
from scorer.blobs import Blobs
from scorer.metrics.cosine import TILE_COLUMNS, CosineComparison, NormalisedFeatures, Shortlist, host_shortlist
from scorer.metrics.memorization import nearest
from scorer.submissions.files import StoredZip
from worker.runtime import decoded_images
from worker.scoring.feature_cache import cached_features_of


def prepare(folder: str, dimension: int, count: int, reference: int) -> Run:
    """Write an entry's images and features, and a reference."""
    neighbours_contenders.prepare(folder, dimension, count, reference)
    pixels = np.random.default_rng(0).integers(0, 256, (count, SIZE, SIZE, 3), np.uint8)
    np.save(Path(folder) / "images.npy", pixels)
    return {"count": count}


def in_threads(folder: str, count: int) -> Run:
    """Decode in threads of this process."""
    return _decoded(folder, count, 0)


def by_one_process(folder: str, count: int) -> Run:
    """Decode by a limited process."""
    return _decoded(folder, count, 1)


def by_two_processes(folder: str, count: int) -> Run:
    """Decode by two limited processes."""
    return _decoded(folder, count, 2)


def neighbours_beside_products(folder: str) -> Run:
    """The nearest neighbours without the products: the shortlist is known, and unit rows are made for nobody."""
    generated, reference = _sides(folder)
    known: list[Shortlist] = []

    def remembered(comparison: CosineComparison, crowd: int, done: Callable[[float], None]) -> Shortlist:
        known.append(host_shortlist(comparison, crowd, done))
        return known[0]

    def given(comparison: CosineComparison, crowd: int, done: Callable[[float], None]) -> Shortlist:  # noqa: ARG001
        comparison.generated.unit(0, len(comparison.generated), np.float32)
        for column in range(0, len(comparison.reference), TILE_COLUMNS):
            comparison.reference.unit(column, column + TILE_COLUMNS, np.float32)
        return known[0]

    nearest(generated, reference, shortlister=remembered)
    return timed(lambda: nearest(generated, reference, shortlister=given))


def storing(folder: str) -> Run:
    """What a score leaves for the evidence, into a store that is a folder."""
    where = Path(folder)
    images, rows = np.load(where / "images.npy", mmap_mode="r"), np.load(where / "generated.npy")
    return timed(lambda: np.savez(where / "stored.npz", **cached_features_of(images, rows)._asdict()))


def _decoded(folder: str, count: int, processes: int) -> Run:
    blobs = Blobs((Path(folder) / "blobs").as_uri())
    key = f"{count}.zip"
    stored = StoredZip(key, blobs.hash_blob(key).sha256)
    spec = ImageSpec(count, SIZE)
    with TemporaryDirectory(dir=folder) as scratch:
        path = Path(scratch) / "images.npy"
        return timed(lambda: decoded_images.decode(blobs, stored, spec, path, lambda _: None, processes=processes))


def _sides(folder: str) -> tuple[np.ndarray, NormalisedFeatures]:
    where = Path(folder)
    squares = np.load(where / "squares.npy")
    return np.load(where / "generated.npy"), NormalisedFeatures(
        np.load(where / "reference.npy", mmap_mode="r"), squares
    )
