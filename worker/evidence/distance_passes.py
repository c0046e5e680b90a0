"""The two passes over distances that several tests share: among an entry's images, and between them and the training
images. Each pass computes the products of all pairs once.

If there are too few images for one of the tests, the others still run: the pass returns None for it, and the test
itself reports the reason.
"""

from dataclasses import dataclass

from scorer.extractors import Features
from scorer.metrics.copying.internal_duplicates import AlikePairs, InternalDuplicates
from scorer.metrics.copying.near_duplicates import NEIGHBOURS
from scorer.metrics.copying.partial_copying import PartialCopying
from scorer.metrics.cosine import NormalisedFeatures
from scorer.metrics.euclidean import NearestColumns, NearestRows, Neighbours, neighbours
from scorer.metrics.features import Vector
from scorer.metrics.memorization import Nearest, nearest
from scorer.metrics.paired_cosines import CosineShortlist, PairedCosines
from scorer.metrics.pairing import Consumer, Pairing, go_through
from scorer.metrics.sample_quality.kid import KernelRowSums
from scorer.metrics.sample_quality.prdc import PRECISION_K, Manifold, Overlap, Prdc
from scorer.metrics.sample_quality.two_sample import PooledNeighbours, PooledSample
from scorer.progress import ProgressCallback


@dataclass(frozen=True, eq=False)
class OwnDistances:
    """Distances among the n images of an entry."""

    manifold: Manifold | None
    """None for too few images."""
    pooled: Neighbours | None
    """The nearest images in the two-sample test's pool; None without a pool."""
    kernel_sums: Vector
    """The sums for KID, (n,)."""
    repeats: InternalDuplicates | None
    """None without held-out images."""


@dataclass(frozen=True, eq=False)
class TrainingDistances:
    """Distances between the n images of an entry and the m training images."""

    upright: Nearest
    """The nearest training images by cosine distance."""
    nearest: Neighbours
    """The nearest training images by Euclidean distance."""
    squares: Vector
    """The squared distance of every training image to the nearest image of the entry, (m,)."""
    pooled: PooledNeighbours | None
    """In the two-sample test's pool: the nearest images of each kind to those of the other, and of training images to
    each other. None without a pool.
    """
    kernel_sums: Vector
    """The sums for KID, (n,)."""
    overlap: tuple[Prdc, Prdc] | None
    """None without one of the two manifolds."""


def own_distances(
    own: NormalisedFeatures,
    *,
    pool: PooledSample | None,
    held_out: PartialCopying | None,
    training: int,
    progress: ProgressCallback,
) -> OwnDistances:
    """``held_out`` has the limit for repeats, from distances to ``training`` images."""
    count = len(own)
    pairing = Pairing(own.features)
    sums = KernelRowSums(pairing)
    balls = NearestRows(count, PRECISION_K) if count > PRECISION_K else None
    pooled = None if pool is None else NearestRows(count, 1, pool.generated)
    alike = None if held_out is None else AlikePairs(own, PairedCosines(pairing, own, own), held_out, training=training)
    _go_through(pairing, (sums, balls, pooled, alike), progress)
    return OwnDistances(
        None if balls is None else Manifold(own.features, balls.result.squares),
        None if pooled is None else pooled.result,
        sums.result(),
        None if alike is None else alike.result(),
    )


def training_distances(
    own: NormalisedFeatures,
    training: NormalisedFeatures,
    *,
    signed: bool,
    pool: PooledSample | None,
    among_own: OwnDistances,
    manifold: Manifold | None,
    progress: ProgressCallback,
) -> TrainingDistances:
    """Compare the images of an entry with the training images, which ``manifold`` describes. Finds as many nearest
    images as :mod:`scorer.metrics.copying.near_duplicates` needs, if there are enough training images.
    """
    count, others = len(own), len(training)
    pairing = Pairing(own.features, training.features)
    shortlist = CosineShortlist(PairedCosines(pairing, own, training), signed=signed)
    rows, columns = NearestRows(count, min(NEIGHBOURS, others)), NearestColumns(others)
    sums = KernelRowSums(pairing)
    overlap = None if manifold is None or among_own.manifold is None else Overlap(among_own.manifold, manifold)
    pooled_rows = None if pool is None else NearestRows(count, 1, pool.reference)
    pooled_columns = None if pool is None else NearestColumns(others, pool.generated)
    _go_through(pairing, (shortlist, rows, columns, sums, overlap, pooled_rows, pooled_columns), progress)
    pooled = None
    if pool is not None and among_own.pooled is not None and pooled_rows is not None and pooled_columns is not None:
        pooled = _pooled(pool, training.features, among_own.pooled, rows=pooled_rows.result, columns=pooled_columns)
    return TrainingDistances(
        nearest(own, training, signed=signed, shortlister=shortlist),
        rows.result,
        columns.squares,
        pooled,
        sums.result(),
        None if overlap is None else overlap.result(),
    )


def _go_through(pairing: Pairing, consumers: tuple[Consumer | None, ...], progress: ProgressCallback) -> None:
    go_through(pairing, [consumer for consumer in consumers if consumer is not None], progress)


def _pooled(
    pool: PooledSample, training: Features, among_own: Neighbours, *, rows: Neighbours, columns: NearestColumns
) -> PooledNeighbours:
    found = PooledNeighbours(pool)
    found.add(pool.generated, among_own.squares[:, 0], pool.generated[among_own.index[:, 0]])
    found.add(pool.generated, rows.squares[:, 0], pool.reference[rows.index[:, 0]])
    found.add(pool.reference, columns.squares, pool.generated[columns.index])
    drawn = pool.reference >= 0
    places = pool.reference[drawn]
    among_training = neighbours(training[drawn], ranks=places)
    found.add(places, among_training.squares[:, 0], places[among_training.index[:, 0]])
    return found
