"""The tests of an entry's features, the reference being prepared; each returns ``seconds`` and one number found."""

import time
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness.isolation import Run
from benchmarks.harness.synthetic import features
from scorer.archive import find_training_image_copies
from scorer.metrics.copying import authenticity as authentic
from scorer.metrics.copying.cells import Partition, partition_from, partition_of
from scorer.metrics.copying.data_copying import copying_reference_from, copying_reference_in
from scorer.metrics.copying.data_copying import data_copying as copied
from scorer.metrics.copying.internal_duplicates import internal_duplicates as repeated
from scorer.metrics.copying.ndb import TrainingBins, bins_of
from scorer.metrics.copying.ndb import compare_with_bins as binned
from scorer.metrics.copying.near_duplicates import near_duplicates as near
from scorer.metrics.copying.near_duplicates import originals_of
from scorer.metrics.copying.partial_copying import partial_copying
from scorer.metrics.copying.thumbnails import thumbnail_originals
from scorer.metrics.cosine import NormalisedFeatures, normalise
from scorer.metrics.memorization import Nearest, nearest
from scorer.metrics.sample_quality.fid_infinity import fid_infinity as limit_of
from scorer.metrics.sample_quality.frechet import Statistics, statistics_of
from scorer.metrics.sample_quality.frechet_standard_error import frechet_standard_error
from scorer.metrics.sample_quality.kid import kernel_inception_distance
from scorer.metrics.sample_quality.prd import prd as curve
from scorer.metrics.sample_quality.prdc import Manifold, manifold_of, prdc_with_error
from scorer.metrics.sample_quality.relative_mmd import relative_mmd as relative
from scorer.metrics.sample_quality.two_sample import two_sample as told_apart
from worker.evidence.analysis import AnalysedEntry
from worker.evidence.array_cache import Arrays
from worker.evidence.reference import ReferenceAnalysis, reference_analysis_of
from worker.evidence.report import evidence_of
from worker.evidence.thumbnails import ReferenceThumbnails

CELLS, MIN_BINS, THUMBNAIL = 20, 100, 192


def prepare(folder: str, dimension: int, count: int, reference: int, held_out: int) -> Run:
    """Write the features of all kinds and what is kept with a reference."""
    where = Path(folder)
    where.mkdir(parents=True, exist_ok=True)
    sets = {"generated": count, "training": reference, "held_out": held_out, "mirrored": reference}
    for stream, (name, rows) in enumerate(sets.items()):
        np.save(where / f"{name}.npy", features(rows, dimension, stream))
    training, fresh = np.load(where / "training.npy"), np.load(where / "held_out.npy")
    statistics = statistics_of(training)
    manifold, bins = manifold_of(training), bins_of(training, MIN_BINS, seed=0)
    kept = {
        "mean": statistics.mean,
        "covariance": statistics.covariance,
        "factor": np.asarray(statistics.factor),
        "radii": manifold.squares,
        "counts": bins.training,
        "fresh": nearest(fresh, training).distance,
        **{f"bins_{name}": part for name, part in bins.partition.arrays().items()},
        **{f"cells_{name}": part for name, part in _cells(training, fresh).items()},
    }
    for name, part in kept.items():
        np.save(where / f"{name}.npy", part)
    for name in ("training", "mirrored"):
        np.save(where / f"{name}_squares.npy", normalise(np.load(where / f"{name}.npy")).squares)
    return {"count": len(training)}


def _cells(training: Any, fresh: Any) -> dict[str, Any]:
    return copying_reference_in(partition_of(training, CELLS, seed=0), training, fresh).arrays()


class _PreparedInputs:
    """What was prepared."""

    def __init__(self, folder: str) -> None:
        self._folder = Path(folder)
        self.generated = np.load(self._folder / "generated.npy")

    def part(self, name: str) -> Any:
        """An array, mapped."""
        return np.load(self._folder / f"{name}.npy", mmap_mode="r")

    @cached_property
    def statistics(self) -> Statistics:
        """Of the training images."""
        mean, covariance, factor = (np.array(self.part(name)) for name in ("mean", "covariance", "factor"))
        return Statistics(mean, covariance, len(self.part("training")), factor)

    @cached_property
    def manifold(self) -> Manifold:
        """Of the training images."""
        return Manifold(np.array(self.part("training")), np.array(self.part("radii")))

    def normalised(self, name: str) -> NormalisedFeatures:
        """Features with the lengths that are kept with them."""
        return NormalisedFeatures(self.part(name), self.part(f"{name}_squares"))

    def partition(self, name: str) -> Partition:
        """The projection and centres of bins or cells."""
        return partition_from({part: self.part(f"{name}_{part}") for part in ("mean", "axes", "centres")})


def _timed(test: Callable[[], float]) -> Run:
    start, worked = time.perf_counter(), time.process_time()
    value = test()
    return {"seconds": time.perf_counter() - start, "cpu_seconds": time.process_time() - worked, "value": value}


def _random() -> np.random.Generator:
    return np.random.default_rng(0)


def frechet_error(folder: str) -> Run:
    """0 where there are no more images than dimensions, and so no error."""
    given, statistics = _PreparedInputs(folder), _PreparedInputs(folder).statistics
    return _timed(lambda: frechet_standard_error(given.generated, statistics) or 0.0)


def frechet_limit(folder: str) -> Run:
    """15 sizes from half of the images on, which for 10,000 is 5,000."""
    given, statistics = _PreparedInputs(folder), _PreparedInputs(folder).statistics

    def limit() -> float:
        found = limit_of(given.generated, statistics, random=_random(), smallest=len(given.generated) // 2)
        return found.value if found else 0.0

    return _timed(limit)


def kid(folder: str) -> Run:
    """100 subsets of 1,000, or of all where there are fewer."""
    given, real = _PreparedInputs(folder), np.array(_PreparedInputs(folder).part("training"))
    size = min(1000, len(given.generated))
    return _timed(lambda: kernel_inception_distance(given.generated, real, random=_random(), subset_size=size).mean)


def overlap(folder: str) -> Run:
    """Precision and the others, from the generated features and the reference's manifold."""
    given, manifold = _PreparedInputs(folder), _PreparedInputs(folder).manifold
    return _timed(lambda: prdc_with_error(given.generated, manifold)[0].precision)


def authenticity(folder: str) -> Run:
    """With the reference's manifold."""
    given, manifold = _PreparedInputs(folder), _PreparedInputs(folder).manifold
    return _timed(lambda: authentic.authenticity(given.generated, manifold).share)


def two_sample(folder: str) -> Run:
    """As many training as generated images."""
    given, real = _PreparedInputs(folder), _PreparedInputs(folder).part("training")
    return _timed(lambda: told_apart(given.generated, real, random=_random()).both.share)


def relative_mmd(folder: str) -> Run:
    """As many of each kind as there are held-out images."""
    given = _PreparedInputs(folder)
    training, fresh = given.part("training"), given.part("held_out")
    return _timed(lambda: relative(given.generated, training, fresh, random=_random()).p_closer)


def prd(folder: str) -> Run:
    """One clustering."""
    given, real = _PreparedInputs(folder), _PreparedInputs(folder).part("training")
    return _timed(lambda: curve(given.generated, real, random=_random()).mean.recall)


def binning(folder: str) -> Run:
    """In the bins of the reference."""
    given = _PreparedInputs(folder)
    bins = TrainingBins(given.partition("bins"), np.array(given.part("counts")))
    return _timed(lambda: binned(given.generated, bins).share)


def data_copying(folder: str) -> Run:
    """In the cells of the reference."""
    given = _PreparedInputs(folder)
    names = ("mean", "axes", "centres", "training", "held_out")
    reference = copying_reference_from({name: np.array(given.part(f"cells_{name}")) for name in names})
    return _timed(lambda: copied(given.generated, reference).overall.z)


def near_copies(folder: str) -> Run:
    """The search among mirrored training images; the one among upright ones belongs to the score."""
    given = _PreparedInputs(folder)
    mirrored, held_out = given.normalised("mirrored"), np.array(given.part("fresh"))
    fresh = originals_of(Nearest(held_out, np.zeros(len(held_out), np.int64)))
    return _timed(lambda: near(originals_of(nearest(given.generated, mirrored)), fresh).closeness.share)


def repeats(folder: str) -> Run:
    """With the limit that the held-out images give."""
    given = _PreparedInputs(folder)
    distances, training = np.array(given.part("fresh")), len(given.part("training"))
    limit = partial_copying(distances, distances)
    return _timed(lambda: repeated(given.generated, limit, training).share)


def grounds(folder: str) -> Run:
    """What belongs to the references alone, made and kept; the network's part, which is not measured here, aside."""
    return _timed(lambda: float(len(_reference_analysis(folder).training)))


def whole(folder: str) -> Run:
    """All tests one after the other, in one process, as a worker composes them."""
    kept, statistics = _reference_analysis(folder), _PreparedInputs(folder).statistics
    own = np.array(_PreparedInputs(folder).generated)
    hashes = np.arange(4 * len(own), dtype=np.uint32).view(np.uint8).reshape(len(own), -1)
    names = [f"{row:06}.png" for row in range(max(len(own), len(kept.training)))]
    entry = AnalysedEntry(
        names=names,
        features=own,
        thumbnails=features(len(own), THUMBNAIL, 4),
        hashes=hashes,
        mirrored_hashes=hashes + 1,
        copies=find_training_image_copies(hashes, hashes[:0], hashes[:0]),
        logits=own[:, : min(1000, own.shape[1])],
        fid=1.0,
        distance=0.1,
        distance_se=None,
    )
    return _timed(
        lambda: float(len(evidence_of(entry, kept, statistics, names, seed=0, progress=lambda _: None).findings))
    )


def _reference_thumbnails(given: _PreparedInputs) -> ReferenceThumbnails:
    """Synthetic thumbnails of the references; to make them costs what reading the images does."""
    training, mirrored, fresh = (
        features(len(given.part(name)), THUMBNAIL, stream)
        for stream, name in enumerate(("training", "mirrored", "held_out"), 5)
    )
    return ReferenceThumbnails(training, mirrored, thumbnail_originals(fresh, training, mirrored))


def _reference_analysis(folder: str) -> ReferenceAnalysis:
    where, given = Path(folder), _PreparedInputs(folder)

    def keep(name: str, make: Callable[[], Arrays]) -> Arrays:
        path = where / f"grounds-{name}.npz"
        if not path.exists():
            np.savez(path, allow_pickle=False, **make())
        with np.load(path, allow_pickle=False) as arrays:
            return dict(arrays)

    parts = (given.part(name) for name in ("training", "mirrored", "held_out"))
    return reference_analysis_of(
        *parts, thumbnails=_reference_thumbnails(given), signed=False, cache=keep, progress=lambda _: None
    )
