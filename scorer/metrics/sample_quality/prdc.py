"""PRDC: precision, recall, density and coverage, with standard errors over the choice of generated images."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scorer.errors import Invalid
from scorer.metrics.cosine import Indices
from scorer.metrics.euclidean import Pairing, neighbours
from scorer.metrics.features import Features, Vector, require_matrix


class CoverageCounter:
    """Counts, block by block, in how many sets each of ``points`` points lies."""

    def __init__(self, points: int) -> None:
        self._held = np.zeros(points, np.int64)
        self._first = np.zeros(points, np.int64)

    def add(self, inside: NDArray[np.bool_], start: int) -> None:
        """Add a block: whether each point lies in sets start.., (sets, points)."""
        held = inside.sum(axis=0)
        new = (self._held == 0) & (held > 0)
        self._first[new] = start + inside[:, new].argmax(axis=0)
        self._held += held

    @property
    def share(self) -> float:
        """The share in [0, 1] of the points that lie in any set."""
        return float((self._held > 0).mean())

    def exclusive_counts(self, sets: int) -> Indices:
        """How many points each set alone holds, (sets,)."""
        return np.bincount(self._first[self._held == 1], minlength=sets)

    def set_error(self, sets: int) -> float:
        """The standard error of ``share`` over the choice of the sets, the points being given: jackknife."""
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
        """Squared radii, (n,), that reach to the k-th neighbour."""
        if not 1 <= k <= self.squares.shape[1]:
            raise Invalid("bad-count", f"The manifold knows 1 to {self.squares.shape[1]} neighbours, not {k}.")
        return np.asarray(self.squares[:, k - 1])


@dataclass(frozen=True)
class Prdc:
    """Precision, recall and coverage in [0, 1]; density >= 0, 1 in expectation for two samples of one law."""

    precision: float
    recall: float
    density: float
    coverage: float


@dataclass(frozen=True)
class PrdcError:
    """The standard errors of an :class:`Prdc` over the choice of generated images."""

    precision: float
    recall: float
    density: float
    coverage: float


def manifold_of(features: Features, k: int = 5, *, progress: Callable[[float], None] | None = None) -> Manifold:
    """Measure the balls around the rows of features (n, d), float32 or float64, n > k.

    Worth storing for a reference, whose balls cost more than the rest. ``progress`` is called with the finished
    share, rising to 1.0. Raises :class:`Invalid` as :func:`neighbours` does.
    """
    return Manifold(features, neighbours(features, k=k, progress=progress).squares)


def prdc_with_error(
    generated: Features | Manifold,
    reference: Features | Manifold,
    *,
    k: int = 3,
    density_k: int = 5,
    progress: Callable[[float], None] | None = None,
) -> tuple[Prdc, PrdcError]:
    """Improved precision and recall with balls to the ``k``-th, density and coverage to the ``density_k``-th.

    Either set is features, float32 or float64, or a manifold that knows as many neighbours. The defaults are the
    papers'. Never holds n x m numbers. ``progress`` is called with the finished share, rising to 1.0. Raises
    :class:`Invalid`: ``bad-count``, and as :class:`Pairing` does.
    """
    n, m = _count(generated, "generated"), _count(reference, "reference")
    costs = (
        0 if isinstance(generated, Manifold) else n * n,
        0 if isinstance(reference, Manifold) else m * m,
        n * m,
    )

    def part(number: int) -> Callable[[float], None] | None:
        before = sum(costs[:number])
        own = costs[number]
        whole = sum(costs)
        return (lambda share: progress((before + share * own) / whole)) if progress else None

    own = generated if isinstance(generated, Manifold) else manifold_of(generated, k, progress=part(0))
    other = (
        reference if isinstance(reference, Manifold) else manifold_of(reference, max(k, density_k), progress=part(1))
    )
    return _overlap(own, other, k, density_k, part(2) or (lambda _share: None))


def _count(manifold: Features | Manifold, whose: str) -> int:
    features = manifold.features if isinstance(manifold, Manifold) else manifold
    require_matrix(features, whose)
    return len(features)


def _overlap(
    own: Manifold, other: Manifold, k: int, density_k: int, report: Callable[[float], None]
) -> tuple[Prdc, PrdcError]:
    n, m = len(own.features), len(other.features)
    around_generated = own.limits(k)[:, None]
    around_real, dense_around_real = other.limits(k)[None, :], other.limits(density_k)[None, :]
    precise, dense = np.zeros(n, np.bool_), np.zeros(n, np.int64)
    recalled, covered = CoverageCounter(m), CoverageCounter(m)
    for strip in Pairing(own.features, other.features).strips():
        precise[strip.rows] = strip.within(around_real, strict=False).any(axis=1)
        recalled.add(strip.within(around_generated[strip.rows], strict=False), strip.rows.start)
        inside = strip.within(dense_around_real, strict=True)
        dense[strip.rows] = inside.sum(axis=1)
        covered.add(inside, strip.rows.start)
        report(strip.rows.stop / n)
    values = Prdc(float(precise.mean()), recalled.share, int(dense.sum()) / (density_k * n), covered.share)
    root = np.sqrt(n)
    errors = float(precise.std() / root), float(dense.std() / root / density_k)
    return values, PrdcError(errors[0], recalled.set_error(n), errors[1], covered.set_error(n))
