"""One entry compared with its references: intermediate results of the tests, each computed once."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np

from scorer.archive import ExactDuplicates, PixelHashes, TrainingImageCopies, find_exact_duplicates
from scorer.extractors import Features
from scorer.metrics.copying.authenticity import Authenticity, authenticity_from
from scorer.metrics.copying.data_copying import DataCopying, Scope, data_copying
from scorer.metrics.copying.internal_duplicates import InternalDuplicates
from scorer.metrics.copying.membership_inference import MembershipInference, membership_inference
from scorer.metrics.copying.near_duplicates import (
    LOWER_TAIL,
    NearDuplicates,
    near_duplicates,
    originals_of,
    relative_originals,
)
from scorer.metrics.copying.near_hashes import hash_originals
from scorer.metrics.copying.partial_copying import PartialCopying, partial_copying
from scorer.metrics.copying.perceptual_hashes import PerceptualHashes
from scorer.metrics.copying.support_size import SupportSize, estimate_support
from scorer.metrics.copying.thumbnails import MIN_CONTRAST, Pixels, contrast_of
from scorer.metrics.cosine import NormalisedFeatures, normalise
from scorer.metrics.euclidean import neighbours
from scorer.metrics.features import Estimate, Vector, require_matrix
from scorer.metrics.memorization import Nearest, nearest
from scorer.metrics.sample_quality.frechet import Statistics
from scorer.metrics.sample_quality.frechet_standard_error import frechet_influences
from scorer.metrics.sample_quality.kid import squared_mmd_of
from scorer.metrics.sample_quality.prdc import PRECISION_K, Manifold, Prdc
from scorer.metrics.sample_quality.two_sample import PooledSample, TwoSample, draw_pool, two_sample_in
from scorer.progress import ProgressCallback
from worker.evidence.distance_passes import OwnDistances, TrainingDistances, own_distances, training_distances
from worker.evidence.reference import HeldOut, NotComputable, ReferenceAnalysis, or_none

Found = TypeVar("Found")

NO_HELD_OUT_IMAGES = "There are no held-out images to compare with."


@dataclass(frozen=True, eq=False)
class AnalysedEntry:
    """The data of an entry for the tests: n images in canonical order."""

    names: Sequence[str]
    extractor: str
    """The extractor that computed the features."""
    features: Features
    """(n, d)"""
    thumbnails: Features
    """(n, 192)"""
    perceptual_hashes: PerceptualHashes
    """(n, 8)"""
    hashes: PixelHashes
    mirrored_hashes: PixelHashes
    """Pixel hashes of the mirrored images."""
    copies: TrainingImageCopies
    """The images with the pixel hash of a training image, upright or mirrored."""
    logits: Features | None
    """(n, classes); None if the extractor has no classifier."""
    fid: float
    distance: float
    distance_se: float | None
    """From the recorded measurement."""
    draws: Sequence[Pixels] = ()
    """For a generator, the images of each draw, (n, s, s, 3) uint8."""
    features_of_draws: Features | None = None
    """The features of the first of these draws."""


class Analysis:
    """An entry compared with its references. Results that several tests share are computed once, on demand.

    Properties raise :class:`NotComputable` if there are too few images, or no held-out ones.
    """

    def __init__(
        self,
        entry: AnalysedEntry,
        reference: ReferenceAnalysis,
        statistics: Statistics,
        *,
        seed: int,
        authors: bool = False,
    ) -> None:
        self.entry = entry
        self.reference = reference
        self.statistics = statistics
        self.seed = seed
        self.authors = authors
        self.progress: ProgressCallback = lambda _share: None

    def random(self, stream: int) -> np.random.Generator:
        """The random numbers of one test, independent of the other tests."""
        return np.random.default_rng([self.seed, stream])

    @property
    def held_out(self) -> HeldOut:
        """The held-out images; raises ``NotComputable`` without them."""
        if self.reference.held_out is None:
            raise NotComputable(NO_HELD_OUT_IMAGES)
        return self.reference.held_out

    @cached_property
    def normalised(self) -> NormalisedFeatures:
        return normalise(self.entry.features, "generated")

    @cached_property
    def pool(self) -> PooledSample:
        return draw_pool(self.entry.features, self.training, random=self.random(1))

    @cached_property
    def among_own(self) -> OwnDistances:
        """The entry's images compared with each other."""
        return own_distances(
            self.normalised,
            pool=or_none(lambda: self.pool),
            held_out=or_none(lambda: self._held_out_limit),
            training=len(self.reference.training),
            progress=self.progress,
        )

    @cached_property
    def to_training(self) -> TrainingDistances:
        """The entry's images compared with the training images."""
        return training_distances(
            self.normalised,
            self.reference.training,
            signed=self.reference.signed,
            pool=or_none(lambda: self.pool),
            among_own=self.among_own,
            manifold=or_none(lambda: self.manifold),
            progress=self.progress,
        )

    @property
    def upright(self) -> Nearest:
        """The nearest training image of every image."""
        return self.to_training.upright

    @property
    def _held_out_limit(self) -> PartialCopying:
        """The limit of closeness, which only the held-out images determine."""
        distances = self.held_out.upright
        return partial_copying(distances, distances)

    @cached_property
    def closeness(self) -> PartialCopying:
        held_out = self.held_out.upright  # before the search, which is useless without held-out images
        return partial_copying(self.upright.distance, held_out)

    @cached_property
    def near_copies(self) -> NearDuplicates:
        held_out = self.held_out.upright_or_mirrored
        mirrored = nearest(
            self.normalised, self.reference.mirrored, signed=self.reference.signed, progress=self.progress
        )
        return near_duplicates(originals_of(self.upright, mirrored), held_out)

    @cached_property
    def thumbnail_copies(self) -> NearDuplicates:
        thumbnails = self.reference.thumbnails
        if thumbnails.held_out is None:
            raise NotComputable(NO_HELD_OUT_IMAGES)
        originals = thumbnails.originals(self.entry.thumbnails, self.progress)
        order_by = originals.distance / (contrast_of(self.entry.thumbnails) + MIN_CONTRAST)
        return near_duplicates(originals, thumbnails.held_out, order_by=order_by)

    @cached_property
    def hash_copies(self) -> NearDuplicates:
        thumbnails = self.reference.thumbnails
        originals = hash_originals(self.entry.perceptual_hashes, thumbnails.hashes, progress=self.progress)
        if thumbnails.held_out_by_hash is None:
            raise NotComputable(NO_HELD_OUT_IMAGES)
        return near_duplicates(originals, thumbnails.held_out_by_hash)

    @cached_property
    def copying(self) -> DataCopying:
        cells = self.held_out.cells
        if isinstance(cells, str):
            raise NotComputable(cells)
        scope: Scope = "authors" if self.authors else "global"
        return data_copying(self.entry.features, cells, scope=scope, progress=self.progress)

    @property
    def repeats(self) -> InternalDuplicates:
        if self.among_own.repeats is None:
            raise NotComputable(NO_HELD_OUT_IMAGES)
        return self.among_own.repeats

    @cached_property
    def exact_duplicates(self) -> ExactDuplicates:
        return find_exact_duplicates(self.entry.hashes, self.entry.mirrored_hashes)

    @cached_property
    def authenticity(self) -> Authenticity:
        return authenticity_from(self.to_training.nearest, self.manifold)

    @cached_property
    def relative_copies(self) -> NearDuplicates:
        return near_duplicates(relative_originals(self.to_training.nearest), self.held_out.relative, rare=LOWER_TAIL)

    @cached_property
    def membership(self) -> MembershipInference:
        held_out = neighbours(self.held_out.features, self.entry.features)
        return membership_inference(np.sqrt(self.to_training.squares), np.sqrt(held_out.squares[:, 0]))

    @property
    def two_sample(self) -> TwoSample:
        pool = self.pool
        return two_sample_in(pool, _require_found(self.to_training.pooled).places)

    @property
    def kid(self) -> Estimate:
        for features, name in ((self.entry.features, "generated"), (self.training, "reference")):
            require_matrix(features, name, min_rows=2)
        return squared_mmd_of(self.among_own.kernel_sums, self.to_training.kernel_sums, self.reference.kernel_sums)

    @property
    def overlap(self) -> tuple[Prdc, Prdc]:
        if isinstance(self.reference.manifold, str):
            raise NotComputable(self.reference.manifold)
        require_matrix(self.entry.features, "given", min_rows=PRECISION_K + 1)
        return _require_found(self.to_training.overlap)

    @cached_property
    def influences(self) -> Vector | None:
        """The influence of every image on the FID, (n,); None for too few images."""
        return frechet_influences(self.entry.features, self.statistics, progress=self.progress)

    @cached_property
    def support(self) -> SupportSize:
        features = () if self.entry.features_of_draws is None else (self.entry.features_of_draws,)
        return estimate_support(self.entry.draws, features, seed=self.seed, progress=self.progress)

    @property
    def manifold(self) -> Manifold:
        """The manifold of the training images; raises ``NotComputable`` without one."""
        if isinstance(self.reference.manifold, str):
            raise NotComputable(self.reference.manifold)
        return self.reference.manifold

    @property
    def training(self) -> Features:
        features: Features = self.reference.training.features
        return features


def _require_found(found: Found | None) -> Found:
    """The result of a pass; if there is none, the test has already reported why."""
    if found is None:
        raise AssertionError("the pass has no result for a test that can be computed")
    return found
