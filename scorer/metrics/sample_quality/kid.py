"""KID: the unbiased squared maximum mean discrepancy between two sets of features.

    MMD^2 = mean k(x_i, x_j) + mean k(y_i, y_j) - 2 mean k(x_i, y_j),   i != j in the first two
                                                                        (Gretton et al. 2012, eq. 3)
    k(x, y) = (x . y / d + 1)^3                                         (Binkowski et al. 2018, section 4)

The field takes the mean over random subsets, because the cost grows with the square. Over all images it has the same
expectation, varies less, and is the same whatever is drawn. Unbiased means that sets of one distribution give 0 on
average, at any size, and so about half of the time less than 0: unlike FID it can be compared between sets of different
sizes. Everything is float64, whatever the features: float32 would lose a difference of means that nearly cancel.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from scorer.metrics.features import Features, Vector, require_finite, require_matrix, require_same_dimension
from scorer.metrics.sample_quality.kernel_sums import sums_across, sums_within


@dataclass(frozen=True)
class SquaredMmd:
    """The unbiased MMD^2 of two sets; ``value`` may be negative."""

    value: float
    standard_error: float
    """Over the choice of the generated images, the reference being given."""


def squared_mmd(
    generated: Features,
    reference: Features,
    *,
    reference_sums: Vector | None = None,
    progress: Callable[[float], None] | None = None,
) -> SquaredMmd:
    """The unbiased MMD^2 of features (n, d) and (m, d), float32 or float64, n and m >= 2.

    ``reference_sums`` are :func:`reference_sums_of` the reference, which cost most of the time and are worth storing.
    The standard error is that of the linear part (Hájek's projection), where an image x counts as 2 (mean k(x, X) -
    mean k(x, Y)). It is too rough to test whether two sets have one distribution, for there the linear part vanishes.
    Never holds n x m numbers. ``progress`` is called with the finished share, rising to 1.0. Raises
    :class:`Invalid`: ``too-few-images``, ``bad-features``, ``degenerate-features``, ``dimension-mismatch``.
    """
    for features, whose in ((generated, "generated"), (reference, "reference")):
        _require(features, whose)
    require_same_dimension(generated.shape[1], reference.shape[1])
    n, m = len(generated), len(reference)
    # A set against itself costs half, by symmetry.
    costs = n * n / 2, n * m, 0.0 if reference_sums is not None else m * m / 2

    def part(number: int) -> Callable[[float], None]:
        before, own, whole = sum(costs[:number]), costs[number], sum(costs)
        return lambda share: progress(min(1.0, (before + share * own) / whole)) if progress else None

    own = sums_within(generated, _kernel, part(0)) / (n - 1)
    across = sums_across(generated, reference, _kernel, part(1))[0] / m
    other = (sums_within(reference, _kernel, part(2)) if reference_sums is None else reference_sums) / (m - 1)
    value = own.mean() + other.mean() - 2.0 * across.mean()
    return SquaredMmd(float(value), float(2.0 * (own - across).std(ddof=1) / np.sqrt(n)))


def reference_sums_of(reference: Features, *, progress: Callable[[float], None] | None = None) -> Vector:
    """For every row of features (m, d) the sum of its kernel values with all other rows, (m,) float64.

    Raises :class:`Invalid` as :func:`squared_mmd` does.
    """
    _require(reference, "reference")
    return sums_within(reference, _kernel, progress or (lambda _share: None))


def _require(features: Features, whose: str) -> None:
    require_matrix(features, whose, min_rows=2)
    require_finite(features, whose)


def _kernel(left: Vector, right: Vector) -> Vector:
    """All values k(x, y) of float64 rows x and y."""
    values: Vector = left @ right.T
    values /= left.shape[1]
    values += 1.0
    values *= np.square(values)
    return values
