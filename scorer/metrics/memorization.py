"""Memorization distance: the mean cosine distance of generated images to their nearest training image.

    s(S_g, S_t) = 1/|S_g| sum over g in S_g of min over t in S_t of (1 - |cos(g, t)|)

(Bai et al. 2021, section 2.1). The direction matters: the mean is over the *generated* images and the minimum over the
reference. A generator that repeats half of the training set perfectly has s = 0 in this direction, but not in the
other.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from scorer.metrics.cosine import (
    CosineComparison,
    Indices,
    NormalisedFeatures,
    Shortlister,
    host_shortlist,
    normalise,
)
from scorer.metrics.features import Features, Vector, require_same_dimension
from scorer.progress import ProgressCallback

__all__ = [
    "ClosestPair",
    "Nearest",
    "NormalisedFeatures",
    "closest_pairs",
    "memorization_distance",
    "nearest",
    "normalise",
]

MAX_CANDIDATES = 64
"""A row with more candidates is cheaper to compute as a whole in float64 than pair by pair."""
_MAX_REDONE_AT_ONCE = 512


@dataclass(frozen=True, eq=False)
class Nearest:
    """The nearest reference image of every generated image.

    ``distance`` (n,) float64 in [0, 2], ``index`` (n,) int64 into the reference rows.
    """

    distance: Vector
    index: Indices

    @property
    def mean(self) -> float:
        """The memorization distance s."""
        return float(self.distance.mean())

    @property
    def standard_error(self) -> float | None:
        """Standard error of s over the choice of generated images: sd / sqrt(n); None for a single image."""
        count = len(self.distance)
        return float(self.distance.std(ddof=1) / np.sqrt(count)) if count > 1 else None


class ClosestPair(NamedTuple):
    generated: int
    reference: int
    distance: float


def nearest(
    generated: Features | NormalisedFeatures,
    reference: Features | NormalisedFeatures,
    *,
    signed: bool = False,
    shortlister: Shortlister = host_shortlist,
    progress: ProgressCallback | None = None,
) -> Nearest:
    """The nearest reference row of every generated row by cosine distance, ties to the lowest index.

    ``generated`` (n, d) and ``reference`` (m, d), float32 or float64, or the same already normalised (a reference is
    normalised once and stored). ``signed`` uses 1 - cos instead of 1 - |cos|, for spaces with negative features.
    ``shortlister`` makes the products that exclude most pairs. ``progress`` is called with the finished share, rising
    to 1.0.

    The result is that of comparing all n m pairs in float64, bit for bit the same for any batch, number of threads or
    device. It never holds n x m numbers. Raises :class:`Invalid` (``degenerate-features`` naming the rows,
    ``bad-features``, ``dimension-mismatch``).
    """
    own = generated if isinstance(generated, NormalisedFeatures) else normalise(generated, "generated")
    other = reference if isinstance(reference, NormalisedFeatures) else normalise(reference, "reference")
    require_same_dimension(own.features.shape[1], other.features.shape[1])
    report = progress or (lambda _share: None)

    distance = np.full(len(own), np.inf)
    index = np.full(len(own), -1, np.int64)
    comparison = CosineComparison(own, other, signed)
    rows, columns, crowded = shortlister(comparison, MAX_CANDIDATES, lambda share: report(0.9 * share))
    decided, columns, distances = _lowest(rows, columns, comparison.distances(rows, columns))
    distance[decided], index[decided] = distances, columns
    for start in range(0, len(crowded), _MAX_REDONE_AT_ONCE):
        some = crowded[start : start + _MAX_REDONE_AT_ONCE]
        comparison = CosineComparison(own.take(some), other, signed)
        rows, columns, _ = comparison.shortlist(np.float64, len(other), lambda _share: None)
        decided, columns, distances = _lowest(rows, columns, comparison.distances(rows, columns))
        distance[some[decided]], index[some[decided]] = distances, columns
        report(0.9 + 0.1 * (start + len(some)) / len(crowded))
    report(1.0)
    return Nearest(distance, index)


def memorization_distance(
    generated: Features | NormalisedFeatures,
    reference: Features | NormalisedFeatures,
    *,
    signed: bool = False,
) -> float:
    """The memorization distance s(S_g, S_t) from generated to reference, in [0, 2]; see :func:`nearest`."""
    return nearest(generated, reference, signed=signed).mean


def closest_pairs(matches: Nearest, k: int) -> tuple[ClosestPair, ...]:
    """The k generated images closest to the reference, nearest first, ties to the lowest row."""
    rows = np.argsort(matches.distance, kind="stable")[:k]
    return tuple(ClosestPair(int(row), int(matches.index[row]), float(matches.distance[row])) for row in rows)


def _lowest(rows: Indices, columns: Indices, distances: Vector) -> tuple[Indices, Indices, Vector]:
    """The pair with the smallest distance for each row, ties to the lowest column."""
    order = np.lexsort((columns, distances, rows))
    decided, first = np.unique(rows[order], return_index=True)
    best = order[first]
    return decided, columns[best], distances[best]
