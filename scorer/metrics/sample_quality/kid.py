"""KID: the unbiased squared maximum mean discrepancy between two sets of features.

    MMD^2 = mean k(x_i, x_j) + mean k(y_i, y_j) - 2 mean k(x_i, y_j),   i != j in the first two
                                                                        (Gretton et al. 2012, eq. 3)
    k(x, y) = (x . y / d + 1)^3                                         (Binkowski et al. 2018, section 4)

KID is its mean over random subsets. Unbiased means that sets of one distribution give 0 on average,
at any size, and so about half of the time less than 0: unlike FID it can be compared between
sets of different sizes. Everything is float64, whatever the features: float32 would lose a difference of means
that nearly cancel.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from scorer.errors import Invalid
from scorer.metrics.features import Features, Vector, require_finite, require_matrix, require_same_dimension
from scorer.metrics.sample_quality.kernel_sums import sums_across, sums_within


@dataclass(frozen=True)
class KernelInceptionDistance:
    """KID: the unbiased MMD^2 of random subsets, summed up.

    ``mean``: the estimate; it may be negative. ``subset_deviation``: the standard deviation (over s - 1)
    of one subset's value, which is what the field prints behind a plus-minus sign; None for one subset.
    It says nothing of how far the mean may be from the truth: for that see :func:`squared_mmd`.
    """

    mean: float
    subset_deviation: float | None
    subsets: int
    subset_size: int

    @property
    def resampling_error(self) -> float | None:
        """Standard error of the mean over the draw of the subsets alone, the images being given."""
        return None if self.subset_deviation is None else self.subset_deviation / float(np.sqrt(self.subsets))


@dataclass(frozen=True)
class SquaredMmd:
    """The unbiased MMD^2 of two whole sets, and its standard error over the choice of images in both."""

    value: float
    standard_error: float


def kernel_inception_distance(
    generated: Features,
    reference: Features,
    *,
    random: np.random.Generator,
    subsets: int = 100,
    subset_size: int = 1000,
    progress: Callable[[float], None] | None = None,
) -> KernelInceptionDistance:
    """KID of features (n, d) and (m, d), float32 or float64.

    Every subset is ``subset_size`` rows of either set, drawn by ``random`` without replacement, first from the
    generated ones. ``progress`` is called with the finished share, rising to 1.0. Raises :class:`Invalid`:
    ``too-few-images`` for a set smaller than a subset, ``bad-count``, ``bad-features``, ``degenerate-features``,
    ``dimension-mismatch``.
    """
    if subsets < 1 or subset_size < 2:
        raise Invalid("bad-count", f"KID needs at least 1 subset of 2 images, not {subsets} of {subset_size}.")
    _require_both(generated, reference, min_rows=subset_size)
    values = np.empty(subsets)
    for subset in range(subsets):
        own = generated[random.choice(len(generated), subset_size, replace=False)].astype(np.float64)
        other = reference[random.choice(len(reference), subset_size, replace=False)].astype(np.float64)
        values[subset] = _mean_of_pairs(own) + _mean_of_pairs(other) - 2.0 * _kernel(own, other).mean()
        if progress:
            progress((subset + 1) / subsets)
    deviation = float(values.std(ddof=1)) if subsets > 1 else None
    return KernelInceptionDistance(float(values.mean()), deviation, subsets, subset_size)


def squared_mmd(
    generated: Features, reference: Features, *, progress: Callable[[float], None] | None = None
) -> SquaredMmd:
    """The unbiased MMD^2 of all of features (n, d) and (m, d), float32 or float64, n and m >= 2.

    The standard error is that of the linear part (Hájek's projection), where an image x counts as 2 (mean k(x, X) -
    mean k(x, Y)). It is too rough to test whether two sets have one distribution, for there the linear part vanishes.
    Never holds n x m numbers. ``progress`` is called with the finished share, rising to 1.0. Raises :class:`Invalid` as
    :func:`kernel_inception_distance` does.
    """
    _require_both(generated, reference, min_rows=2)
    n, m = len(generated), len(reference)
    # A set against itself costs half, by symmetry.
    finished = 0.0
    whole = n * n / 2 + m * m / 2 + n * m

    def report(share: float) -> None:
        if progress:
            progress(min(1.0, (finished + share) / whole))

    own = sums_within(generated, _kernel, lambda share: report(share * n * n / 2)) / (n - 1)
    finished = n * n / 2
    other = sums_within(reference, _kernel, lambda share: report(share * m * m / 2)) / (m - 1)
    finished += m * m / 2
    by_generated, by_reference = sums_across(generated, reference, _kernel, lambda share: report(share * n * m))
    value = own.mean() + other.mean() - 2.0 * by_generated.mean() / m
    linear = 2.0 * (own - by_generated / m), 2.0 * (other - by_reference / n)
    variance = linear[0].var(ddof=1) / n + linear[1].var(ddof=1) / m
    return SquaredMmd(float(value), float(np.sqrt(variance)))


def _require_both(generated: Features, reference: Features, *, min_rows: int) -> None:
    for features, whose in ((generated, "generated"), (reference, "reference")):
        require_matrix(features, whose, min_rows=min_rows)
        require_finite(features, whose)
    require_same_dimension(generated.shape[1], reference.shape[1])


def _kernel(left: Vector, right: Vector) -> Vector:
    """All values k(x, y) of float64 rows x and y."""
    values: Vector = left @ right.T
    values /= left.shape[1]
    values += 1.0
    values *= np.square(values)
    return values


def _mean_of_pairs(features: Vector) -> float:
    """The mean kernel value of two different rows."""
    values = _kernel(features, features)
    return float((values.sum() - values.trace()) / (len(values) * (len(values) - 1)))
