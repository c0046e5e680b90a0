"""PRDC: precision, recall, density and coverage, with standard errors over the choice of generated images."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scorer.errors import Invalid
from scorer.metrics.cosine import Indices
from scorer.metrics.euclidean import neighbours
from scorer.metrics.features import Features, Vector, require_matrix
from scorer.metrics.pairing import DistanceStrip, Pairing, go_through
from scorer.progress import ProgressCallback

PRECISION_K, DENSITY_K = 3, 5
"""The neighbour that defines the size of the balls, for precision and recall and for density and coverage (as in the
papers)."""


class CoverageCounter:
    """Counts, block by block, how many sets contain each of ``points`` points."""

    def __init__(self, points: int) -> None:
        self._held = np.zeros(points, np.int64)
        self._first = np.zeros(points, np.int64)

    def add(self, inside: NDArray[np.bool_], start: int) -> None:
        """Add a block for the sets from ``start``: whether each set contains each point, (sets, points)."""
        held = inside.sum(axis=0)
        new = (self._held == 0) & (held > 0)
        self._first[new] = start + inside[:, new].argmax(axis=0)
        self._held += held

    @property
    def share(self) -> float:
        """The share in [0, 1] of the points that are in any set."""
        return float((self._held > 0).mean())

    def exclusive_counts(self, sets: int) -> Indices:
        """The number of points that are in no other set, (sets,)."""
        return np.bincount(self._first[self._held == 1], minlength=sets)

    def set_error(self, sets: int) -> float:
        """The standard error of ``share`` over the choice of the sets, for the same points, from a jackknife."""
        lost = self.exclusive_counts(sets) / len(self._held)
        return float(np.sqrt((sets - 1) * lost.var()))


@dataclass(frozen=True, eq=False)
class Manifold:
    """A set of features (n, d) with the size of the balls around its rows.

    ``squares`` (n, k) float64: squared distances to the nearest, second nearest, ... other row.
    """

    features: Features
    squares: Vector

    def limits(self, k: int) -> Vector:
        """Squared radii, (n,), up to the k-th neighbour."""
        if not 1 <= k <= self.squares.shape[1]:
            raise Invalid("bad-count", f"k is {k}; with this manifold it must be from 1 to {self.squares.shape[1]}.")
        return np.asarray(self.squares[:, k - 1])


@dataclass(frozen=True)
class Prdc:
    """Precision, recall and coverage in [0, 1]; density >= 0, with expectation 1 for samples of one distribution."""

    precision: float
    recall: float
    density: float
    coverage: float


def manifold_of(features: Features, k: int = DENSITY_K, *, progress: ProgressCallback | None = None) -> Manifold:
    """Compute the balls around the rows of features (n, d), float32 or float64, n > k.

    Worth storing for a reference, because its balls cost more than everything else. ``progress`` is called with the
    finished share, rising to 1.0. Raises the errors of :func:`neighbours`.
    """
    return Manifold(features, neighbours(features, k=k, progress=progress).squares)


def prdc_with_error(
    generated: Features,
    reference: Features,
    *,
    k: int = PRECISION_K,
    density_k: int = DENSITY_K,
    progress: ProgressCallback | None = None,
) -> tuple[Prdc, Prdc]:
    """Improved precision and recall with balls up to the ``k``-th neighbour, density and coverage up to the
    ``density_k``-th, of float32 or float64 features; and their standard errors over the choice of generated images.

    The defaults are the papers'. Never holds n x m numbers. ``progress`` is called with the finished share, rising to
    1.0. Raises :class:`Invalid`: ``bad-count``, and the errors of :class:`Pairing`.
    """
    for features, name in ((generated, "generated"), (reference, "reference")):
        require_matrix(features, name)
    n, m = len(generated), len(reference)
    costs = n * n, m * m, n * m

    def part(number: int) -> ProgressCallback | None:
        before = sum(costs[:number])
        own = costs[number]
        whole = sum(costs)
        return (lambda share: progress((before + share * own) / whole)) if progress else None

    own = manifold_of(generated, k, progress=part(0))
    other = manifold_of(reference, max(k, density_k), progress=part(1))
    overlap = Overlap(own, other, k, density_k=density_k)
    go_through(Pairing(generated, reference), [overlap], part(2))
    return overlap.result()


class Overlap:
    """Finds how two manifolds overlap, in one pass over all pairs of a generated and a real image."""

    def __init__(self, own: Manifold, other: Manifold, k: int = PRECISION_K, *, density_k: int = DENSITY_K) -> None:
        self._around_generated = own.limits(k)[:, None]
        self._around_real = other.limits(k)[None, :]
        self._dense_around_real = other.limits(density_k)[None, :]
        self._density_k = density_k
        n, m = len(own.features), len(other.features)
        self._precise, self._dense = np.zeros(n, np.bool_), np.zeros(n, np.int64)
        self._recalled, self._covered = CoverageCounter(m), CoverageCounter(m)

    def add(self, strip: DistanceStrip) -> None:
        rows = strip.rows
        self._precise[rows] = strip.within(self._around_real, strict=False).any(axis=1)
        self._recalled.add(strip.within(self._around_generated[rows], strict=False), rows.start)
        inside = strip.within(self._dense_around_real, strict=True)
        self._dense[rows] = inside.sum(axis=1)
        self._covered.add(inside, rows.start)

    def result(self) -> tuple[Prdc, Prdc]:
        """The numbers and their standard errors, after all pairs."""
        precise, dense, n = self._precise, self._dense, len(self._precise)
        density = int(dense.sum()) / (self._density_k * n)
        values = Prdc(float(precise.mean()), self._recalled.share, density, self._covered.share)
        root = np.sqrt(n)
        errors = float(precise.std() / root), float(dense.std() / root / self._density_k)
        return values, Prdc(errors[0], self._recalled.set_error(n), errors[1], self._covered.set_error(n))
