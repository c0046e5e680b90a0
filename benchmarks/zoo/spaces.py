"""A track's feature space: its prepared reference, and the scores and evidence of an entry on it.

The worker's own code (:class:`worker.evidence.analysis.Analysis`) runs the tests, and the numbers are the columns that
it stores. The zoo therefore has the evidence that reviewers would see.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from deploy.demo.tiles import Pixels
from scorer.archive import PixelHashes, find_training_image_copies, hash_pixels, mirror_images
from scorer.extractors import Features
from scorer.metrics.copying.perceptual_hashes import perceptual_hashes
from scorer.metrics.cosine import NormalisedFeatures, normalise
from scorer.metrics.memorization import nearest
from scorer.metrics.sample_quality.frechet import Statistics, frechet_distance, statistics_of
from scorer.progress import ProgressCallback
from worker.evidence.analysis import AnalysedEntry, Analysis
from worker.evidence.details import build_evidence_columns
from worker.evidence.reference import ReferenceAnalysis, analyse_reference
from worker.evidence.thumbnails import load_reference_thumbnails
from worker.scoring.feature_cache import build_cached_features

SEED = 0
"""Seed of random tests. None of the tests used here is random."""
_NO_PROGRESS: ProgressCallback = lambda _share: None  # noqa: E731


@dataclass(frozen=True, eq=False)
class Space:
    statistics: Statistics
    whole: NormalisedFeatures
    held_out_distance: float
    """The memorization distance of the held-out images."""
    reference: ReferenceAnalysis
    hashes: PixelHashes
    """Pixel hashes of the training images."""
    mirrored_hashes: PixelHashes
    """Pixel hashes of the mirrored training images."""

    @property
    def cells(self) -> int:
        """The number of cells of the training images; 0 if there are too few images."""
        held_out = self.reference.held_out
        return 0 if held_out is None or isinstance(held_out.cells, str) else len(held_out.cells.partition)


@dataclass(frozen=True)
class SpaceReading:
    images: int
    copied: float
    """The share of images that equal training images pixel by pixel, upright or mirrored."""
    fid: float
    distance: float
    """The memorization distance s."""
    fid_of_fewer: float
    """FID of the first images, as many as in the entry of photographs."""
    numbers: Mapping[str, float | None]
    """Columns of evidence by name, without those that could not be computed."""


def prepare_space(train: Pixels, held_out: Pixels, *features: Features) -> Space:
    """Prepare a space: statistics, cells, neighbourhoods of training images, distances of held-out images.

    Images are (n, s, s, 3). ``features``, each (n, d) float32, belong to the training images, their mirror images, the
    held-out images, and the whole reference for Fréchet and memorization distances.
    """
    training, mirrored, held_out_features, whole = features
    normalised = normalise(whole)
    return Space(
        statistics=statistics_of(whole),
        whole=normalised,
        held_out_distance=nearest(held_out_features, normalised).mean,
        reference=analyse_reference(
            training,
            mirrored,
            held_out_features,
            thumbnails=load_reference_thumbnails(lambda: train, lambda: held_out),
            signed=False,
            progress=_NO_PROGRESS,
        ),
        hashes=hash_pixels(train),
        mirrored_hashes=hash_pixels(mirror_images(train)),
    )


def read_entry(images: Pixels, features: Features, space: Space, *, fewer: int) -> SpaceReading:
    """Scores and evidence of an entry from its images (n, s, s, 3) and features (n, d).

    Also includes FID of the first ``fewer`` images.
    """
    cached = build_cached_features(images, features)
    entry = AnalysedEntry(
        names=[str(number) for number in range(len(images))],
        extractor="none of the catalogue",
        features=features,
        thumbnails=cached.thumbnails,
        perceptual_hashes=perceptual_hashes(images),
        hashes=cached.hashes,
        mirrored_hashes=cached.mirrored_hashes,
        copies=find_training_image_copies(cached.hashes, space.hashes, space.mirrored_hashes),
        logits=None,
        fid=frechet_distance(statistics_of(features), space.statistics),
        distance=nearest(features, space.whole).mean,
        distance_se=None,
    )
    numbers = build_evidence_columns(Analysis(entry, space.reference, space.statistics, seed=SEED))
    fid = frechet_distance(statistics_of(features[:fewer]), space.statistics)
    return SpaceReading(len(images), entry.copies.share, entry.fid, entry.distance, fid, numbers)
