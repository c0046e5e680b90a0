"""What entries are compared with in one feature space, prepared once, and what the service's tests read there of one.

The tests are put together by the worker's own code (:class:`worker.evidence.analysis.Analysis`), and their numbers are
the columns that
it keeps: what is found in the zoo is what reviewers would be shown.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from deploy.demo.tiles import Pixels
from scorer.archive import PixelHashes, find_training_image_copies, mirror_images, pixel_hashes
from scorer.extractors import Features
from scorer.metrics.cosine import NormalisedFeatures, normalise
from scorer.metrics.memorization import nearest
from scorer.metrics.sample_quality.frechet import Statistics, frechet_distance, statistics_of
from worker.evidence.analysis import AnalysedEntry, Analysis
from worker.evidence.details import evidence_columns_of
from worker.evidence.reference import ProgressCallback, ReferenceAnalysis, reference_analysis_of
from worker.evidence.thumbnails import reference_thumbnails_of
from worker.scoring.feature_cache import cached_features_of

SEED = 0
"""Of what a test draws; none of those that are read here draws anything."""
_NO_PROGRESS: ProgressCallback = lambda _share: None  # noqa: E731


@dataclass(frozen=True, eq=False)
class References:
    """The training images and held-out photographs, each (n, s, s, 3), and features, each (n, d) float32: theirs, those
    of the mirrored training images, and of all that this track's Fréchet and memorization distances are measured to."""

    train: Pixels
    held_out: Pixels
    training: Features
    mirrored: Features
    fresh: Features
    whole: Features


@dataclass(frozen=True, eq=False)
class Space:
    """One track's feature space."""

    statistics: Statistics
    whole: NormalisedFeatures
    fresh_distance: float
    """The memorization distance of the held-out photographs."""
    grounds: ReferenceAnalysis
    hashes: PixelHashes
    """Of the training images' pixels, and of their mirror images'."""
    mirrored_hashes: PixelHashes

    @property
    def cells(self) -> int:
        """Into how many regions the training images are cut; 0 where they are too few."""
        held_out = self.grounds.held_out
        return 0 if held_out is None or isinstance(held_out.cells, str) else len(held_out.cells.partition)


@dataclass(frozen=True)
class SpaceReading:
    """What one space tells of one entry."""

    images: int
    copied: float
    """The share of the images that are training images, pixel by pixel or mirrored."""
    fid: float
    distance: float
    """The memorization distance s."""
    numbers: Mapping[str, float | None]
    """The columns of evidence, by name; those that could not be found are left out."""


def space_of(references: References) -> Space:
    """Prepare a space: the cells, the balls around training images, the held-out photographs' own distances."""
    whole = normalise(references.whole)
    return Space(
        statistics=statistics_of(references.whole),
        whole=whole,
        fresh_distance=nearest(references.fresh, whole).mean,
        grounds=reference_analysis_of(
            references.training,
            references.mirrored,
            references.fresh,
            thumbnails=reference_thumbnails_of(lambda: references.train, lambda: references.held_out),
            signed=False,
            progress=_NO_PROGRESS,
        ),
        hashes=pixel_hashes(references.train),
        mirrored_hashes=pixel_hashes(mirror_images(references.train)),
    )


def read_entry(images: Pixels, features: Features, space: Space) -> SpaceReading:
    """Scores and evidence of an entry by its images (n, s, s, 3) and their features (n, d)."""
    kept = cached_features_of(images, features)
    entry = AnalysedEntry(
        names=[str(number) for number in range(len(images))],
        features=features,
        thumbnails=kept.thumbnails,
        hashes=kept.hashes,
        mirrored_hashes=kept.mirrored_hashes,
        copies=find_training_image_copies(kept.hashes, space.hashes, space.mirrored_hashes),
        logits=None,
        fid=frechet_distance(statistics_of(features), space.statistics),
        distance=nearest(features, space.whole).mean,
        distance_se=None,
    )
    numbers = evidence_columns_of(Analysis(entry, space.grounds, space.statistics, seed=SEED))
    return SpaceReading(len(images), entry.copies.share, entry.fid, entry.distance, numbers)
