"""What evidence about entries stands on: the training images in a feature space, and beside them held-out photographs.

All of it belongs to the references and is the same for every entry, so it is made once and kept. Only the ``train`` set
takes part, whatever else a track's reference holds: it is what a participant can have copied.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from scorer.errors import Invalid
from scorer.extractors import Features
from scorer.metrics.copying.authenticity import Authenticity, authenticity
from scorer.metrics.copying.cells import partition_from
from scorer.metrics.copying.data_copying import CopyingReference, copying_reference, copying_reference_from
from scorer.metrics.copying.ndb import TrainingBins, bins_of
from scorer.metrics.cosine import NormalisedFeatures, normalise
from scorer.metrics.memorization import Nearest, nearest
from scorer.metrics.sample_quality.prdc import Manifold, manifold_of
from worker.evidence.array_cache import ArrayCache, Arrays, no_cache
from worker.evidence.thumbnails import ReferenceThumbnails

ProgressCallback = Callable[[float], None]

SEED = 0
"""Of k-means on the training images: the same regions for all entries."""


class NotComputable(Exception):
    """A test can't be made; the message says why, in a sentence."""


@contextmanager
def few_images_not_computable() -> Iterator[None]:
    """Whatever has too few images is lacking; other faults stay what they are."""
    try:
        yield
    except Invalid as error:
        if error.slug != "too-few-images":
            raise
        raise NotComputable(error.message) from None


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Held-out photographs: as near to the training images as one comes that has not copied them."""

    features: Features
    """(n, d)"""
    upright: Nearest
    turned: Nearest
    """The same against the mirrored training images."""
    authentic: Authenticity
    cells: CopyingReference | str
    """Or why there are none."""


@dataclass(frozen=True, eq=False)
class ReferenceAnalysis:
    """The training images, (m, d) float32 in canonical order, and what is made of them."""

    training: NormalisedFeatures
    mirrored: NormalisedFeatures
    """The features of their mirror images, in the same order."""
    manifold: Manifold | str
    bins: TrainingBins | str
    small: ReferenceThumbnails
    fresh: HeldOut | None
    """None where no photographs are held out."""
    signed: bool


def reference_analysis_of(
    training: Features,
    mirrored: Features,
    held_out: Features | None,
    *,
    small: ReferenceThumbnails,
    signed: bool,
    keep: ArrayCache = no_cache,
    progress: ProgressCallback,
) -> ReferenceAnalysis:
    """Make, or take from ``keep``, what belongs to training images (m, d), their mirror images, and held-out ones;
    ``small`` are the same images as thumbnails.

    What cannot be made of so few images is replaced by the sentence that says so; other faults raise ``Invalid``.
    ``progress`` hears the finished share.
    """
    own, turned = normalise(training), normalise(mirrored)
    kept = keep(
        "manifold", _or_reason(lambda: {"squares": manifold_of(training, progress=_part(progress, 0.0, 0.4)).squares})
    )
    manifold = _reason(kept) or Manifold(training, kept["squares"])
    progress(0.4)
    kept = keep("bins", _or_reason(lambda: _bins(training)))
    bins = _reason(kept) or TrainingBins(partition_from(kept), kept["training"])
    progress(0.5)
    fresh = None
    if held_out is not None:
        tell = _part(progress, 0.5, 1.0)
        fresh = _held_out_of(held_out, own, turned, manifold, signed=signed, keep=keep, progress=tell)
    progress(1.0)
    return ReferenceAnalysis(own, turned, manifold, bins, small, fresh, signed)


def _held_out_of(
    held_out: Features,
    training: NormalisedFeatures,
    mirrored: NormalisedFeatures,
    manifold: Manifold | str,
    *,
    signed: bool,
    keep: ArrayCache,
    progress: ProgressCallback,
) -> HeldOut:
    def found() -> Arrays:
        upright = nearest(held_out, training, signed=signed, progress=_part(progress, 0.0, 0.2))
        turned = nearest(held_out, mirrored, signed=signed, progress=_part(progress, 0.2, 0.4))
        around = manifold if isinstance(manifold, Manifold) else training.features
        authentic = authenticity(held_out, around, progress=_part(progress, 0.4, 0.6))
        return {
            "upright_distance": upright.distance,
            "upright_index": upright.index,
            "turned_distance": turned.distance,
            "turned_index": turned.index,
            "authentic": authentic.authentic,
            "authentic_index": authentic.index,
        }

    kept = keep("fresh", found)
    tell = _part(progress, 0.6, 1.0)
    cells = keep(
        "cells", _or_reason(lambda: copying_reference(training.features, held_out, seed=SEED, progress=tell).arrays())
    )
    return HeldOut(
        held_out,
        Nearest(kept["upright_distance"], kept["upright_index"]),
        Nearest(kept["turned_distance"], kept["turned_index"]),
        Authenticity(kept["authentic"], kept["authentic_index"]),
        _reason(cells) or copying_reference_from(cells),
    )


def _bins(training: Features) -> Arrays:
    bins = bins_of(training, seed=SEED)
    return {**bins.partition.arrays(), "training": bins.training}


def _or_reason(make: Callable[[], Arrays]) -> Callable[[], Arrays]:
    """The same, which tells of too few images instead of failing."""

    def told() -> Arrays:
        try:
            with few_images_not_computable():
                return make()
        except NotComputable as error:
            return {"lack": np.array(str(error))}

    return told


def _reason(kept: Arrays) -> str | None:
    """Why there is nothing, where there is nothing."""
    return str(kept["lack"]) if "lack" in kept else None


def _part(progress: ProgressCallback, start: float, stop: float) -> ProgressCallback:
    return lambda share: progress(start + share * (stop - start))
