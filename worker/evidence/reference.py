"""Reference analysis: data about the training and held-out images in one feature space that the tests of evidence need.

It is the same for every entry, so it is computed once and cached. It uses only the ``train`` set of a track's
reference, because participants can only have copied that.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from scorer.errors import Invalid
from scorer.extractors import Features
from scorer.metrics.copying.authenticity import Authenticity, authenticity_from
from scorer.metrics.copying.cells import partition_from
from scorer.metrics.copying.data_copying import CopyingReference, copying_reference, copying_reference_from
from scorer.metrics.copying.ndb import TrainingBins, bins_of
from scorer.metrics.copying.near_duplicates import NEIGHBOURS, relative_originals
from scorer.metrics.cosine import NormalisedFeatures, normalise
from scorer.metrics.euclidean import neighbours
from scorer.metrics.features import Vector
from scorer.metrics.memorization import nearest
from scorer.metrics.sample_quality.kid import reference_sums_of
from scorer.metrics.sample_quality.likelihood_divergence import LikelihoodReference
from scorer.metrics.sample_quality.prdc import Manifold, manifold_of
from scorer.progress import ProgressCallback
from worker.evidence.thumbnails import ReferenceThumbnails
from worker.scoring.feature_cache import ArrayCache, Arrays, no_cache

Computed = TypeVar("Computed")

SEED = 0
"""Seed of k-means on the training images: the same cells for all entries."""


class NotComputable(Exception):
    """A test cannot be computed; the message is a sentence with the reason."""


@contextmanager
def few_images_not_computable() -> Iterator[None]:
    """Turn ``Invalid`` (``too-few-images``) into :class:`NotComputable`; other faults pass unchanged."""
    try:
        yield
    except Invalid as error:
        if error.slug != "too-few-images":
            raise
        raise NotComputable(error.message) from None


def or_none(compute: Callable[[], Computed]) -> Computed | None:
    """The result of a function; None if it is not computable."""
    try:
        with few_images_not_computable():
            return compute()
    except NotComputable:
        return None


@dataclass(frozen=True, eq=False)
class HeldOut:
    """The held-out images; their distances to the training images are typical of images that are not copies."""

    features: Features
    """(n, d)"""
    upright: Vector
    """The cosine distance of each to the nearest training image, (n,)."""
    upright_or_mirrored: Vector
    """The same to the nearest training image or mirrored training image."""
    authenticity: Authenticity
    relative: Vector
    """The relative distance of each to the nearest training image."""
    cells: CopyingReference | str
    """A string explains why there are none."""


@dataclass(frozen=True, eq=False)
class ReferenceAnalysis:
    """The training images' features, (m, d) float32 in canonical order, and results computed from them.

    A string instead of ``manifold`` or ``bins`` is a sentence that explains why there is none.
    """

    training: NormalisedFeatures
    mirrored: NormalisedFeatures
    """The features of their mirror images, in the same order."""
    manifold: Manifold | str
    bins: TrainingBins | str
    kernel_sums: Vector
    """The sums for KID over the training images, (m,)."""
    thumbnails: ReferenceThumbnails
    held_out: HeldOut | None
    """None without held-out images."""
    signed: bool
    cache: ArrayCache = no_cache

    def likelihood_baseline(self, drawn: LikelihoodReference) -> float:
        """The FLD baseline for the number of images drawn from the references, from the cache if available."""
        name = f"likelihood-{drawn.count}"
        return float(self.cache(name, lambda: {"loss": np.array(drawn.baseline())})["loss"])


def analyse_reference(
    training: Features,
    mirrored: Features,
    held_out: Features | None,
    *,
    thumbnails: ReferenceThumbnails,
    signed: bool,
    cache: ArrayCache = no_cache,
    progress: ProgressCallback,
) -> ReferenceAnalysis:
    """Analyse the features of training images (m, d), of their mirror images, and of held-out images.

    ``thumbnails`` belong to the same images. Arrays come from ``cache`` if available. Results that need more images are
    replaced with a sentence that gives the reason; other faults raise ``Invalid``. ``progress`` receives the finished
    share.
    """
    normalised, normalised_mirrored = normalise(training), normalise(mirrored)
    arrays = cache(
        "manifold",
        _catch_reason(lambda: {"squares": manifold_of(training, progress=_part(progress, 0.0, 0.4)).squares}),
    )
    manifold = _reason(arrays) or Manifold(training, arrays["squares"])
    progress(0.4)
    arrays = cache("bins", _catch_reason(lambda: _bins(training)))
    bins = _reason(arrays) or TrainingBins(partition_from(arrays), arrays["training"])
    progress(0.45)
    kernel_sums = cache(
        "kernel-sums", lambda: {"sums": reference_sums_of(training, progress=_part(progress, 0.45, 0.5))}
    )["sums"]
    progress(0.5)
    analysed = None
    if held_out is not None:
        rest = _part(progress, 0.5, 1.0)
        analysed = _analyse_held_out(
            held_out, normalised, normalised_mirrored, manifold=manifold, signed=signed, cache=cache, progress=rest
        )
    progress(1.0)
    return ReferenceAnalysis(
        normalised, normalised_mirrored, manifold, bins, kernel_sums, thumbnails, analysed, signed, cache
    )


def _analyse_held_out(
    held_out: Features,
    training: NormalisedFeatures,
    mirrored: NormalisedFeatures,
    *,
    manifold: Manifold | str,
    signed: bool,
    cache: ArrayCache,
    progress: ProgressCallback,
) -> HeldOut:
    def compare() -> Arrays:
        upright = nearest(held_out, training, signed=signed, progress=_part(progress, 0.0, 0.2))
        flipped = nearest(held_out, mirrored, signed=signed, progress=_part(progress, 0.2, 0.4))
        count = min(NEIGHBOURS, len(training))
        around = neighbours(held_out, training.features, k=count, progress=_part(progress, 0.4, 0.6))
        tested = authenticity_from(
            around, manifold if isinstance(manifold, Manifold) else manifold_of(training.features, 1)
        )
        return {
            "upright_distance": upright.distance,
            "turned_distance": flipped.distance,
            "authentic": tested.authentic,
            "relative_distance": relative_originals(around).distance,
        }

    arrays = cache("held-out", compare)
    rest = _part(progress, 0.6, 1.0)
    cells = cache(
        "cells",
        _catch_reason(lambda: copying_reference(training.features, held_out, seed=SEED, progress=rest).arrays()),
    )
    return HeldOut(
        held_out,
        arrays["upright_distance"],
        np.minimum(arrays["upright_distance"], arrays["turned_distance"]),
        Authenticity(arrays["authentic"]),
        arrays["relative_distance"],
        _reason(cells) or copying_reference_from(cells),
    )


def _bins(training: Features) -> Arrays:
    bins = bins_of(training, seed=SEED)
    return {**bins.partition.arrays(), "training": bins.training}


def _catch_reason(make: Callable[[], Arrays]) -> Callable[[], Arrays]:
    """The same function, but with too few images it returns the reason as an array instead of raising."""

    def make_or_reason() -> Arrays:
        try:
            with few_images_not_computable():
                return make()
        except NotComputable as error:
            return {"lack": np.array(str(error))}

    return make_or_reason


def _reason(arrays: Arrays) -> str | None:
    """The reason stored by :func:`_catch_reason` in place of arrays, if there is one."""
    return str(arrays["lack"]) if "lack" in arrays else None


def _part(progress: ProgressCallback, start: float, stop: float) -> ProgressCallback:
    return lambda share: progress(start + share * (stop - start))
