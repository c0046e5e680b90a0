"""Benchmark of both tracks of one zip: it is decoded once, and memory does not grow with it."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

import numpy as np

from benchmarks.harness.isolation import Run, Runner, Task, interleaved
from benchmarks.harness.report import Findings, MarkdownTable, Target, mebibytes, seconds
from benchmarks.harness.results import BenchmarkCase, BenchmarkResult, compute_median
from benchmarks.harness.synthetic import features
from deploy.demo.generators import noisy
from deploy.demo.photographs import bundled_photographs
from scorer.archive import ImageSpec, write_images
from scorer.archive.png_pixels import decode_png
from scorer.extractor_catalogue import find_extractor
from scorer.extractors import Features
from scorer.jobs.broker import create_celery_app
from scorer.metrics.cosine import normalise
from scorer.metrics.sample_quality.frechet import statistics_of
from scorer.settings import Settings
from scorer.submissions.files import StoredZip
from worker.runtime import decoded_images
from worker.runtime.context import WorkerContext
from worker.scoring.measure import measure as measure_track
from worker.scoring.reference_features import load_prepared, write_array

KENNEL = "Kennel"
MAX_GROWTH = 1.5
"""Largest ratio of peak memories. The features grow with the images, in float32 and once in float64 (15 kB per image at
d = 1280), and so do the mapped pixels (12 kB). Memory for decoding, resizing and the networks must not grow."""
SIDE, SEED = 64, 2019


class Size(NamedTuple):
    """Numbers of images, public and private extractor, images of the reference.

    Each size has one round, because memory hardly varies and time has no target.
    """

    images: tuple[int, ...] = (1000, 4000, 10_000)
    tracks: tuple[str, str] = ("efficientnet_lite0", "efficientnet_lite2")
    reference: int = 20_579


FULL, QUICK = Size(), Size((20, 60), ("tiny", "tiny"), 600)


def measure(size: Size, folder: Path, run: Runner) -> list[BenchmarkCase]:
    inputs = str(folder)
    for spec in map(find_extractor, sorted(set(size.tracks))):
        sizes = {"key": spec.name, "dimension": spec.dimension, "reference": size.reference}
        run(Task("benchmarks.speed.tracks:prepare_reference", {"folder": inputs, **sizes}))
    cases = []
    for count in size.images:
        run(Task("benchmarks.speed.tracks:prepare_submission", {"folder": inputs, "count": count}))
        arguments = {"folder": inputs, "count": count, "tracks": list(size.tracks)}
        runs = interleaved({KENNEL: "benchmarks.speed.tracks:both_tracks"}, arguments, 1, run=run)
        cases.append(
            BenchmarkCase(str(count), {"count": count, "tracks": size.tracks, "reference": size.reference}, runs)
        )
    return cases


def findings(result: BenchmarkResult) -> Findings:
    cases = sorted(result.cases, key=lambda case: case.settings["count"])
    rows = [
        (f"{case.settings['count']:,}", seconds(runs), f"{compute_median(runs, 'decoded'):,.0f}", mebibytes(runs))
        for case in cases
        for runs in case.runs.values()
    ]
    public, private = cases[0].settings["tracks"]
    title = f"{public} (public), {private} (private), references of {cases[0].settings['reference']:,}"
    table = MarkdownTable(title, ("images", "seconds", "images decoded", "peak, MiB"), rows)
    return Findings([table], _targets(cases))


def _targets(cases: list[BenchmarkCase]) -> list[Target]:
    decoded = max(compute_median(case.runs[KENNEL], "decoded") / case.settings["count"] for case in cases)
    targets = [Target("times an image is decoded", decoded, 1, False)]
    if all("peak_bytes" in case.runs[KENNEL][0] for case in cases):
        peaks = [compute_median(case.runs[KENNEL], "peak_bytes") for case in cases]
        first, last = cases[0].settings["count"], cases[-1].settings["count"]
        growth = f"peak memory with {last:,} images, compared with {first:,}"
        targets += [
            Target(growth, peaks[-1] / peaks[0], MAX_GROWTH, False),
            Target("peak memory", max(peaks) / 1e9, 3, False, " GB"),
        ]
    return targets


def prepare_reference(folder: str, key: str, dimension: int, *, reference: int) -> Run:
    store_reference(Path(folder), key, features(reference, dimension, 1))
    return {"count": reference}


def store_reference(folder: Path, key: str, rows: Features) -> None:
    """Store features as ``worker.scoring.reference_features.prepare_reference`` does."""
    context = worker_context_in(folder)
    statistics, normalised = statistics_of(rows), normalise(rows)
    if statistics.factor is None:
        raise ValueError("a reference's statistics need their factor")
    parts = {"mean": statistics.mean, "covariance": statistics.covariance, "factor": statistics.factor}
    for name, array in {**parts, "features": normalised.features, "squares": normalised.squares}.items():
        write_array(context, f"preparations/{key}/{name}.npy", array)


def prepare_submission(folder: str, count: int) -> Run:
    """Store a zip of ``count`` images, each with individual noise to make it unique."""
    images = noisy(bundled_photographs(SEED).train.images, count, np.random.default_rng(SEED), deviation=4.0)
    path = Path(folder) / "blobs" / f"{count}.zip"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        write_images(images, file)
    return {"zip_bytes": path.stat().st_size}


def both_tracks(folder: str, count: int, tracks: list[str]) -> Run:
    """Run the deep check, then measure each track from the same mapped images, in one process as in a worker.

    ``decoded`` is the number of calls of the decoder.
    """
    context = worker_context_in(Path(folder))
    spec = ImageSpec(count, SIDE)
    extractors = [context.extractor(find_extractor(track).identity) for track in tracks]
    key = f"{count}.zip"
    stored = StoredZip(key, context.blobs.hash_blob(key).sha256, str(count))
    start = time.perf_counter()
    with _counted() as decoded:
        path = decoded_images.build_pixels_path(context.scratch, str(count))
        decoded_images.decode(context.blobs, stored, spec, path=path, progress=no_progress)
        fids = []
        for extractor in extractors:
            images = np.load(path, mmap_mode="r")
            reference = load_prepared(context, extractor.spec.name, signed=False)
            fids.append(measure_track(images, extractor, reference, progress=no_progress).fid)
    end = time.perf_counter()
    path.unlink()
    return {"seconds": end - start, "decoded": len(decoded), "public_fid": fids[0], "private_fid": fids[1]}


@contextmanager
def _counted() -> Iterator[list[None]]:
    """A list with one item for each image that the deep check decodes, in any thread (``list.append`` is atomic)."""
    calls: list[None] = []

    def counting(content: bytes, size: int) -> object:
        calls.append(None)
        return decode_png(content, size)

    with patch("scorer.archive.decoder_pool.decode_png", counting):
        yield calls


def no_progress(*_: object) -> None:
    """Ignore progress."""


def worker_context_in(folder: Path) -> WorkerContext:
    """A worker context with blobs and scratch in ``folder``. Its database and broker do not exist."""
    settings = Settings(
        database_url="postgresql://nobody@localhost/none",
        redis_url="redis://localhost/0",
        blob_url=(folder / "blobs").as_uri(),
        scratch=folder / "scratch",
        device="cpu",
    )
    return WorkerContext.open(settings, create_celery_app(settings))
