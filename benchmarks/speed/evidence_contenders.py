"""The timed tests of an entry's features against a prepared reference.

Each returns ``seconds``, ``cpu_seconds`` and one of the test's numbers as ``value``.
"""

import time
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness.isolation import Run
from benchmarks.harness.synthetic import features
from scorer.archive import find_training_image_copies
from scorer.metrics.copying import authenticity as authenticity_metric
from scorer.metrics.copying.cells import Partition, partition_from, partition_of
from scorer.metrics.copying.data_copying import copying_reference_from, copying_reference_in
from scorer.metrics.copying.data_copying import data_copying as data_copying_test
from scorer.metrics.copying.internal_duplicates import internal_duplicates
from scorer.metrics.copying.ndb import TrainingBins, bins_of, compare_with_bins
from scorer.metrics.copying.near_duplicates import near_duplicates, originals_of
from scorer.metrics.copying.near_hashes import hash_originals
from scorer.metrics.copying.partial_copying import partial_copying
from scorer.metrics.copying.perceptual_hashes import PerceptualHashes
from scorer.metrics.copying.thumbnails import thumbnail_originals
from scorer.metrics.cosine import NormalisedFeatures, normalise
from scorer.metrics.memorization import Nearest, nearest
from scorer.metrics.sample_quality.cmmd import cmmd
from scorer.metrics.sample_quality.diversity import rke, vendi_score
from scorer.metrics.sample_quality.fid_infinity import fid_infinity
from scorer.metrics.sample_quality.frechet import Statistics, statistics_of
from scorer.metrics.sample_quality.frechet_standard_error import frechet_standard_error
from scorer.metrics.sample_quality.kernel_sums import median_width
from scorer.metrics.sample_quality.kid import reference_sums_of, squared_mmd
from scorer.metrics.sample_quality.likelihood_divergence import (
    MAX_IMAGES,
    LikelihoodReference,
    likelihood_divergence,
    likelihood_reference,
)
from scorer.metrics.sample_quality.prd import prd as prd_curve
from scorer.metrics.sample_quality.prdc import Manifold, manifold_of, prdc_with_error
from scorer.metrics.sample_quality.relative_mmd import relative_mmd as relative_mmd_test
from scorer.metrics.sample_quality.two_sample import two_sample as two_sample_test
from worker.evidence.analysis import AnalysedEntry
from worker.evidence.array_cache import Arrays
from worker.evidence.methods import MAX_DIVERSITY_IMAGES
from worker.evidence.reference import ReferenceAnalysis, reference_analysis_of
from worker.evidence.report import evidence_of
from worker.evidence.thumbnails import ReferenceThumbnails

OF_TEST = "seconds of "
"""Before the names of the tests in a run of all of them."""
CELLS, MIN_BINS, THUMBNAIL, CLIP_DIMENSION = 20, 100, 192, 768


def prepare(folder: str, dimension: int, count: int, reference: int, held_out: int) -> Run:
    """Write the features of all kinds and the arrays stored with a reference."""
    destination = Path(folder)
    destination.mkdir(parents=True, exist_ok=True)
    sets = {"generated": count, "training": reference, "held_out": held_out, "mirrored": reference}
    for stream, (name, rows) in enumerate(sets.items()):
        np.save(destination / f"{name}.npy", features(rows, dimension, stream))
    training, held_out_features = np.load(destination / "training.npy"), np.load(destination / "held_out.npy")
    statistics = statistics_of(training)
    manifold = manifold_of(training)
    bins = bins_of(training, MIN_BINS, seed=0)
    arrays = {
        "mean": statistics.mean,
        "covariance": statistics.covariance,
        "factor": np.asarray(statistics.factor),
        "radii": manifold.squares,
        "counts": bins.training,
        "kernel_sums": reference_sums_of(training),
        "fresh": nearest(held_out_features, training).distance,
        **{f"bins_{name}": part for name, part in bins.partition.arrays().items()},
        **{f"cells_{name}": part for name, part in _cells(training, held_out_features).items()},
    }
    for name, part in arrays.items():
        np.save(destination / f"{name}.npy", part)
    for name in ("training", "mirrored"):
        np.save(destination / f"{name}_squares.npy", normalise(np.load(destination / f"{name}.npy")).squares)
    return {"count": len(training)}


def _cells(training: Any, held_out: Any) -> dict[str, Any]:
    return copying_reference_in(partition_of(training, CELLS, seed=0), training, held_out).arrays()


class _PreparedInputs:
    """The arrays written by :func:`prepare`."""

    def __init__(self, folder: str) -> None:
        self._folder = Path(folder)
        self.generated = np.load(self._folder / "generated.npy")

    def part(self, name: str) -> Any:
        """An array, memory-mapped."""
        return np.load(self._folder / f"{name}.npy", mmap_mode="r")

    @cached_property
    def statistics(self) -> Statistics:
        """Mean, covariance and factor of the training features."""
        mean, covariance, factor = (np.array(self.part(name)) for name in ("mean", "covariance", "factor"))
        return Statistics(mean, covariance, len(self.part("training")), factor)

    @cached_property
    def manifold(self) -> Manifold:
        """The training features with the radii of their neighbourhoods."""
        return Manifold(np.array(self.part("training")), np.array(self.part("radii")))

    def normalised(self, name: str) -> NormalisedFeatures:
        """Features with their stored lengths."""
        return NormalisedFeatures(self.part(name), self.part(f"{name}_squares"))

    def partition(self, name: str) -> Partition:
        """The projection and centres of bins or cells."""
        return partition_from({part: self.part(f"{name}_{part}") for part in ("mean", "axes", "centres")})


def _timed(test: Callable[[], float]) -> Run:
    start = time.perf_counter()
    cpu_start = time.process_time()
    value = test()
    return {"seconds": time.perf_counter() - start, "cpu_seconds": time.process_time() - cpu_start, "value": value}


def _random() -> np.random.Generator:
    return np.random.default_rng(0)


def frechet_error(folder: str) -> Run:
    """The standard error of FID; 0 if there are no more images than dimensions, which leaves it undefined."""
    inputs = _PreparedInputs(folder)
    statistics = _PreparedInputs(folder).statistics
    return _timed(lambda: frechet_standard_error(inputs.generated, statistics) or 0.0)


def frechet_limit(folder: str) -> Run:
    """FID-infinity from 15 sizes, the smallest being half of the images; the images' influences are those of the
    standard error of FID."""
    inputs = _PreparedInputs(folder)
    statistics = _PreparedInputs(folder).statistics

    def limit() -> float:
        estimate = fid_infinity(
            inputs.generated, statistics, influences=None, random=_random(), min_size=len(inputs.generated) // 2
        )
        return estimate.value if estimate else 0.0

    return _timed(limit)


def kid(folder: str) -> Run:
    """KID of all images, from the reference's sums."""
    inputs = _PreparedInputs(folder)
    real, sums = (np.array(inputs.part(name)) for name in ("training", "kernel_sums"))
    return _timed(lambda: squared_mmd(inputs.generated, real, reference_sums=sums).value)


def overlap(folder: str) -> Run:
    """Precision, recall, density and coverage with errors, from the reference's manifold."""
    inputs = _PreparedInputs(folder)
    manifold = _PreparedInputs(folder).manifold
    return _timed(lambda: prdc_with_error(inputs.generated, manifold)[0].precision)


def authenticity(folder: str) -> Run:
    """Authenticity, from the reference's manifold."""
    inputs = _PreparedInputs(folder)
    manifold = _PreparedInputs(folder).manifold
    return _timed(lambda: authenticity_metric.authenticity(inputs.generated, manifold).share)


def two_sample(folder: str) -> Run:
    """The nearest-neighbour two-sample test on as many training as generated images."""
    inputs = _PreparedInputs(folder)
    real = _PreparedInputs(folder).part("training")
    return _timed(lambda: two_sample_test(inputs.generated, real, random=_random()).both.share)


def relative_mmd(folder: str) -> Run:
    """The three-sample kernel test on as many images of each kind as there are held-out ones."""
    inputs = _PreparedInputs(folder)
    training, held_out = inputs.part("training"), inputs.part("held_out")
    return _timed(lambda: relative_mmd_test(inputs.generated, training, held_out, random=_random()).p_closer)


def prd(folder: str) -> Run:
    """PRD from ten clusterings."""
    inputs = _PreparedInputs(folder)
    real = _PreparedInputs(folder).part("training")
    return _timed(lambda: prd_curve(inputs.generated, real, random=_random()).mean.recall)


def binning(folder: str) -> Run:
    """NDB in the reference's bins."""
    inputs = _PreparedInputs(folder)
    bins = TrainingBins(inputs.partition("bins"), np.array(inputs.part("counts")))
    return _timed(lambda: compare_with_bins(inputs.generated, bins).share)


def data_copying(folder: str) -> Run:
    """The data-copying test in the reference's cells."""
    inputs = _PreparedInputs(folder)
    names = ("mean", "axes", "centres", "training", "held_out")
    reference = copying_reference_from({name: np.array(inputs.part(f"cells_{name}")) for name in names})
    return _timed(lambda: data_copying_test(inputs.generated, reference).overall.z)


def near_copies(folder: str) -> Run:
    """Near duplicates of mirrored training images; the search among upright ones belongs to the score."""
    inputs = _PreparedInputs(folder)
    mirrored = inputs.normalised("mirrored")
    distances = np.array(inputs.part("fresh"))
    held_out_originals = originals_of(Nearest(distances, np.zeros(len(distances), np.int64)))

    def share() -> float:
        originals = originals_of(nearest(inputs.generated, mirrored))
        return near_duplicates(originals, held_out_originals).closeness.share

    return _timed(share)


def repeats(folder: str) -> Run:
    """Near duplicates within the entry, with the limit set by held-out images."""
    inputs = _PreparedInputs(folder)
    distances = np.array(inputs.part("fresh"))
    training = len(inputs.part("training"))
    limit = partial_copying(distances, distances)
    return _timed(lambda: internal_duplicates(inputs.generated, limit, training).share)


def likelihood(folder: str) -> Run:
    """FLD with its gap, from the reference's baseline."""
    inputs = _PreparedInputs(folder)
    training, held_out = np.array(inputs.part("training")), np.array(inputs.part("held_out"))
    baseline = _likelihood_reference(inputs).baseline()

    def stored(_reference: LikelihoodReference) -> float:
        return baseline

    return _timed(
        lambda: likelihood_divergence(inputs.generated, training, held_out, random=_random(), baseline=stored).fld
    )


def _likelihood_reference(inputs: _PreparedInputs) -> LikelihoodReference:
    training, held_out = inputs.part("training"), inputs.part("held_out")
    return likelihood_reference(training, held_out, min(MAX_IMAGES, len(inputs.generated), len(held_out)))


def diversity(folder: str) -> Run:
    """The Vendi score and RKE, of images of the entry and of as many training images."""
    inputs = _PreparedInputs(folder)
    sets = tuple(np.array(each[:MAX_DIVERSITY_IMAGES]) for each in (inputs.generated, inputs.part("training")))
    sigma = median_width(sets[1], sets[1])
    return _timed(lambda: sum(vendi_score(each).value + rke(each, sigma).value for each in sets))


def clip_distance(folder: str) -> Run:
    """CMMD of as many dimensions as CLIP has."""
    inputs = _PreparedInputs(folder)
    dimension = min(CLIP_DIMENSION, inputs.generated.shape[1])
    own, training = (np.array(each[:, :dimension]) for each in (inputs.generated, inputs.part("training")))
    return _timed(lambda: cmmd(own, training).value)


def references(folder: str) -> Run:
    """Compute and store the analysis of the references, which no entry changes, without the network's part."""
    return _timed(lambda: float(len(_reference_analysis(folder).training)))


def all_tests(folder: str) -> Run:
    """All tests one after the other in one process, as a worker runs them."""
    reference = _reference_analysis(folder)
    statistics = _PreparedInputs(folder).statistics
    generated = np.array(_PreparedInputs(folder).generated)
    hashes = np.arange(4 * len(generated), dtype=np.uint32).view(np.uint8).reshape(len(generated), -1)
    names = [f"{row:06}.png" for row in range(max(len(generated), len(reference.training)))]
    entry = AnalysedEntry(
        names=names,
        extractor="inception_v3",
        features=generated,
        thumbnails=features(len(generated), THUMBNAIL, 4),
        perceptual_hashes=perceptual_hashes_of(len(generated), 2),
        hashes=hashes,
        mirrored_hashes=hashes + 1,
        copies=find_training_image_copies(hashes, hashes[:0], hashes[:0]),
        logits=generated[:, : min(1000, generated.shape[1])],
        fid=1.0,
        distance=0.1,
        distance_se=None,
    )
    seconds: dict[str, float] = {}

    def evidence() -> float:
        report = evidence_of(entry, reference, statistics, names, seed=0, progress=lambda _: None)
        seconds.update(report.seconds)
        return float(len(report.findings))

    return _timed(evidence) | {f"{OF_TEST}{test}": each for test, each in seconds.items()}


def _reference_thumbnails(inputs: _PreparedInputs) -> ReferenceThumbnails:
    """Synthetic thumbnails of the references; making real ones would cost as much as reading the images."""
    training, mirrored, held_out = (
        features(len(inputs.part(name)), THUMBNAIL, stream)
        for stream, name in enumerate(("training", "mirrored", "held_out"), 5)
    )
    hashes = perceptual_hashes_of(len(training), 0)
    by_hash = hash_originals(perceptual_hashes_of(len(held_out), 1), hashes)
    return ReferenceThumbnails(training, mirrored, hashes, thumbnail_originals(held_out, training, mirrored), by_hash)


def perceptual_hashes_of(count: int, stream: int) -> PerceptualHashes:
    """Synthetic perceptual hashes (count, 8), of images that are unlike each other."""
    return np.random.default_rng([stream, count]).integers(0, 1 << 32, (count, 8), np.uint32)


def _reference_analysis(folder: str) -> ReferenceAnalysis:
    store = Path(folder)
    inputs = _PreparedInputs(folder)

    def cache(name: str, make: Callable[[], Arrays]) -> Arrays:
        path = store / f"analysis-{name}.npz"
        if not path.exists():
            np.savez(path, allow_pickle=False, **make())
        with np.load(path, allow_pickle=False) as arrays:
            return dict(arrays)

    training, mirrored, held_out = (inputs.part(name) for name in ("training", "mirrored", "held_out"))
    thumbnails = _reference_thumbnails(inputs)
    reference = reference_analysis_of(
        training, mirrored, held_out, thumbnails=thumbnails, signed=False, cache=cache, progress=lambda _: None
    )
    reference.likelihood_baseline(_likelihood_reference(inputs))
    return reference
