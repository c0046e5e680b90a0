"""Fidelity and diversity apart: how far the supports of generated and real features overlap.

Around every row stands a ball that reaches to its k-th nearest row of the same set, itself excluded;
the balls of a set stand for its support. B(x) is the ball of a real x, B'(g) that of a generated g:

    precision = share of g in any B(x)     recall = share of x in any B'(g)       (Kynkäänniemi et al. 2019)
    density = 1 / (k n) sum over g of #{x: g in B(x)}                             (Naeem et al. 2020, eq. 3)
    coverage = share of x whose B(x) holds any g                                  (Naeem et al. 2020, eq. 4)

Precision and recall count the border of a ball as inside (<=), density and coverage do not (<), each as in
its authors' code. The ``prdc`` package takes < for all four. The two differ on ties alone, that is on
copies: a copy of x sits on the border of exactly those balls of which x is the k-th neighbour.

All four have a standard error over the choice of the generated images, the real ones being given, as all entries have
the same ones. Precision and density are means over independent images. Recall and coverage are shares of covered
points, whose sets are generated images (:mod:`scorer.metrics.cover`). For recall, the generated balls are taken to keep
their sizes when an image is missing.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from scorer.errors import Invalid
from scorer.metrics.cover import Cover
from scorer.metrics.euclidean import Pairing, neighbours
from scorer.metrics.features import Features, Vector, require_matrix


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
class Overlap:
    """Precision, recall and coverage in [0, 1]; density >= 0, 1 in expectation for two samples of one law."""

    precision: float
    recall: float
    density: float
    coverage: float


@dataclass(frozen=True)
class OverlapError:
    """The standard errors of an :class:`Overlap` over the choice of generated images."""

    precision: float
    recall: float
    density: float
    coverage: float


def manifold_of(features: Features, k: int = 5, *, progress: Callable[[float], None] | None = None) -> Manifold:
    """Measure the balls around the rows of features (n, d), float32 or float64, n > k.

    Worth keeping for a reference, whose balls cost more than all the rest. ``progress`` hears the
    finished share, rising to 1.0. Raises :class:`Invalid` as :func:`neighbours` does.
    """
    return Manifold(features, neighbours(features, k=k, progress=progress).squares)


def overlap_with_error(
    generated: Features | Manifold,
    reference: Features | Manifold,
    *,
    k: int = 3,
    density_k: int = 5,
    progress: Callable[[float], None] | None = None,
) -> tuple[Overlap, OverlapError]:
    """Improved precision and recall with balls to the ``k``-th, density and coverage to the ``density_k``-th.

    Either set is features, float32 or float64, or a manifold that knows as many neighbours. The defaults
    are the papers'. Never holds n x m numbers. ``progress`` hears the finished share, rising to 1.0. Raises
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
    own: Manifold, other: Manifold, k: int, density_k: int, tell: Callable[[float], None]
) -> tuple[Overlap, OverlapError]:
    n, m = len(own.features), len(other.features)
    around_generated = own.limits(k)[:, None]
    around_real, dense_around_real = other.limits(k)[None, :], other.limits(density_k)[None, :]
    precise, dense = np.zeros(n, np.bool_), np.zeros(n, np.int64)
    recalled, covered = Cover(m), Cover(m)
    for strip in Pairing(own.features, other.features).strips():
        precise[strip.rows] = strip.within(around_real, strict=False).any(axis=1)
        recalled.add(strip.within(around_generated[strip.rows], strict=False), strip.rows.start)
        inside = strip.within(dense_around_real, strict=True)
        dense[strip.rows] = inside.sum(axis=1)
        covered.add(inside, strip.rows.start)
        tell(strip.rows.stop / n)
    found = Overlap(float(precise.mean()), recalled.share, int(dense.sum()) / (density_k * n), covered.share)
    root = np.sqrt(n)
    errors = float(precise.std() / root), float(dense.std() / root / density_k)
    return found, OverlapError(errors[0], recalled.set_error(n), errors[1], covered.set_error(n))
