"""The timed scoring of one submission on two tracks in one worker, and the loading of a prepared reference."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

import numpy as np

from benchmarks.harness.isolation import Run
from benchmarks.harness.synthetic import features
from benchmarks.harness.worker_context import worker_context_in
from deploy.demo.generators import noisy
from deploy.demo.photographs import bundled_photographs
from scorer import extractor_catalogue
from scorer.archive import ImageSpec, write_images
from scorer.archive.png_decoding import decode_png
from scorer.metrics.cosine import normalise
from scorer.metrics.sample_quality.frechet import statistics_of
from scorer.submissions.files import StoredZip
from worker.runtime import decoded_images
from worker.scoring.measure import measure
from worker.scoring.reference_features import load_prepared, write_array

SIZE = 64
SEED = 2019
PARTS = ("mean", "covariance", "factor", "features", "squares")


def prepare_reference(folder: str, key: str, dimension: int, reference: int) -> Run:
    """Store a reference as ``worker.scoring.reference_features.prepare_reference`` does."""
    context = worker_context_in(Path(folder))
    rows = features(reference, dimension, 1)
    statistics = statistics_of(rows)
    normalised = normalise(rows)
    if statistics.factor is None:
        raise ValueError("a reference's statistics need their factor")
    arrays = (statistics.mean, statistics.covariance, statistics.factor, normalised.features, normalised.squares)
    for name, array in zip(PARTS, arrays, strict=True):
        write_array(context, f"preparations/{key}/{name}.npy", array)
    return {"count": len(rows)}


def prepare_submission(folder: str, count: int) -> Run:
    """Store a zip of ``count`` images, each with its own noise so that no two are equal."""
    images = noisy(bundled_photographs(SEED).train.images, count, np.random.default_rng(SEED), deviation=4.0)
    path = Path(folder) / "blobs" / f"{count}.zip"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        write_images(images, file)
    return {"zip_bytes": path.stat().st_size}


def both_tracks(folder: str, count: int, tracks: list[str]) -> Run:
    """The deep check, then each track from the same mapped images, in one process as in a worker.

    ``decoded`` is the number of images that the decoder was called for.
    """
    context = worker_context_in(Path(folder))
    spec = ImageSpec(count, SIZE)
    extractors = [context.extractor(extractor_catalogue.find_extractor(track).identity) for track in tracks]
    key = f"{count}.zip"
    stored = StoredZip(key, context.blobs.hash_blob(key).sha256)
    start = time.perf_counter()
    with _counted() as decoded:
        path = decoded_images.path_of(context.scratch, str(count))
        decoded_images.decode(context.blobs, stored, spec, path, _no_progress)
        fids = []
        for extractor in extractors:
            images = decoded_images.decoded_images_of(context, str(count), stored, spec, _no_progress)
            reference = load_prepared(context, extractor.spec.name, signed=False)
            fids.append(measure(images, extractor, reference, _no_progress).fid)
    end = time.perf_counter()
    path.unlink()
    return {"seconds": end - start, "decoded": len(decoded), "public_fid": fids[0], "private_fid": fids[1]}


def load(folder: str, key: str) -> Run:
    """Map a prepared reference (``seconds``), and read every byte of it once (``read_seconds``, mapping included)."""
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


@contextmanager
def _counted() -> Iterator[list[None]]:
    """A list with one item for each image that the deep check decodes, in any thread (``list.append`` is atomic)."""
    calls: list[None] = []

    def counting(content: bytes, size: int) -> object:
        calls.append(None)
        return decode_png(content, size)

    with patch("scorer.archive.deep_check.decode_png", counting):
        yield calls


def _no_progress(*_: object) -> None:
    """A progress callback that does nothing."""
