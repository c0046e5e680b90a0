"""An entry before its references: what the tests of evidence look at, found once however many of them ask."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from scorer.archive import ExactDuplicates, PixelHashes, TrainingImageCopies, find_exact_duplicates
from scorer.extractors import Features
from scorer.metrics.copying.authenticity import Authenticity, authenticity
from scorer.metrics.copying.data_copying import DataCopying, data_copying
from scorer.metrics.copying.internal_duplicates import InternalDuplicates, internal_duplicates
from scorer.metrics.copying.near_duplicates import NearDuplicates, near_duplicates, originals_of
from scorer.metrics.copying.partial_copying import PartialCopying, partial_copying
from scorer.metrics.copying.thumbnails import MIN_CONTRAST, contrast_of
from scorer.metrics.cosine import NormalisedFeatures, normalise
from scorer.metrics.memorization import Nearest, nearest
from scorer.metrics.sample_quality.frechet import Statistics
from scorer.metrics.sample_quality.prdc import Manifold
from worker.evidence.reference import HeldOut, NotComputable, ProgressCallback, ReferenceAnalysis

NO_HELD_OUT_IMAGES = "There are no held-out photographs to compare with."


@dataclass(frozen=True, eq=False)
class AnalysedEntry:
    """What an entry is looked at by: n images in canonical order."""

    names: Sequence[str]
    features: Features
    """(n, d)"""
    thumbnails: Features
    """(n, 192)"""
    hashes: PixelHashes
    mirrored_hashes: PixelHashes
    """Of the images' mirror images."""
    copies: TrainingImageCopies
    """Which of them are training images, pixel by pixel."""
    logits: Features | None
    """(n, classes); None where the network has no classifier."""
    fid: float
    distance: float
    distance_se: float | None
    """The scores as they were measured."""


class Analysis:
    """An entry before its references. What several tests look at is found once, when the first one asks."""

    def __init__(self, entry: AnalysedEntry, grounds: ReferenceAnalysis, statistics: Statistics, *, seed: int) -> None:
        self.entry, self.grounds, self.statistics, self.seed = entry, grounds, statistics, seed
        self.progress: ProgressCallback = lambda _share: None

    def random(self, stream: int) -> np.random.Generator:
        """A test's own stream."""
        return np.random.default_rng([self.seed, stream])

    @property
    def fresh(self) -> HeldOut:
        """The held-out photographs, or ``Lacking``."""
        if self.grounds.fresh is None:
            raise NotComputable(NO_HELD_OUT_IMAGES)
        return self.grounds.fresh

    @cached_property
    def normalised(self) -> NormalisedFeatures:
        return normalise(self.entry.features, "generated")

    @cached_property
    def upright(self) -> Nearest:
        """The nearest training image of every image."""
        return nearest(self.normalised, self.grounds.training, signed=self.grounds.signed, progress=self.progress)

    @cached_property
    def closeness(self) -> PartialCopying:
        fresh = self.fresh
        return partial_copying(self.upright.distance, fresh.upright.distance)

    @cached_property
    def near_copies(self) -> NearDuplicates:
        fresh = self.fresh
        turned = nearest(self.normalised, self.grounds.mirrored, signed=self.grounds.signed, progress=self.progress)
        return near_duplicates(originals_of(self.upright, turned), originals_of(fresh.upright, fresh.turned))

    @cached_property
    def thumbnail_copies(self) -> NearDuplicates:
        small = self.grounds.small
        if small.fresh is None:
            raise NotComputable(NO_HELD_OUT_IMAGES)
        own = small.originals(self.entry.thumbnails, self.progress)
        order_by = own.distance / (contrast_of(self.entry.thumbnails) + MIN_CONTRAST)
        return near_duplicates(own, small.fresh, order_by=order_by)

    @cached_property
    def copying(self) -> DataCopying:
        cells = self.fresh.cells
        if isinstance(cells, str):
            raise NotComputable(cells)
        return data_copying(self.entry.features, cells, progress=self.progress)

    @cached_property
    def repeats(self) -> InternalDuplicates:
        return internal_duplicates(self.normalised, self.closeness, len(self.grounds.training), progress=self.progress)

    @cached_property
    def twins(self) -> ExactDuplicates:
        return find_exact_duplicates(self.entry.hashes, self.entry.mirrored_hashes)

    @cached_property
    def authenticity(self) -> Authenticity:
        """Of the images, beside the training images."""
        return authenticity(self.entry.features, self.manifold, progress=self.progress)

    @property
    def manifold(self) -> Manifold:
        """Of the training images, or ``Lacking``."""
        if isinstance(self.grounds.manifold, str):
            raise NotComputable(self.grounds.manifold)
        return self.grounds.manifold

    @property
    def training(self) -> Features:
        """The training images' features."""
        features: Features = self.grounds.training.features
        return features
