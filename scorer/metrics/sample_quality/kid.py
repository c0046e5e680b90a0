"""KID: the unbiased squared maximum mean discrepancy between two sets of features.

    MMD^2 = mean k(x_i, x_j) + mean k(y_i, y_j) - 2 mean k(x_i, y_j),   i != j in the first two
                                                                        (Gretton et al. 2012, eq. 3)
    k(x, y) = (x . y / d + 1)^3                                         (Binkowski et al. 2018, section 4)

Papers usually take the mean over random subsets, because the cost grows with the square. Over all images it has the
same expectation, varies less, and needs no random draw. Unbiased means that for two sets from one distribution, it is 0
on average, at any size, and below 0 about half of the time. So unlike FID, it can be compared between sets of different
sizes.
All computation is in float64 because the means nearly cancel. The exception is the part of the kernel that
:class:`KernelRowSums` takes from float32 products, which other tests also need.
"""

import numpy as np

from scorer.metrics.features import Estimate, Features, Vector, require_finite, require_matrix, require_same_dimension
from scorer.metrics.pairing import DistanceStrip, Pairing
from scorer.metrics.sample_quality.kernel_sums import sums_across, sums_within
from scorer.progress import ProgressCallback


def squared_mmd(
    generated: Features,
    reference: Features,
    *,
    progress: ProgressCallback | None = None,
) -> Estimate:
    """The unbiased MMD^2 of features (n, d) and (m, d), float32 or float64, n and m >= 2.

    The standard error is that of the linear part (Hájek's projection), to which an image x contributes
    2 (mean k(x, X) - mean k(x, Y)). It is too rough to test whether two sets come from one distribution, because
    then the linear part vanishes. Never holds n x m numbers. ``progress`` is called with the finished
    share, rising to 1.0. Raises :class:`Invalid`: ``too-few-images``, ``bad-features``, ``degenerate-features``,
    ``dimension-mismatch``.
    """
    for features, name in ((generated, "generated"), (reference, "reference")):
        _require(features, name)
    require_same_dimension(generated.shape[1], reference.shape[1])
    n, m = len(generated), len(reference)
    # By symmetry, a set compared with itself costs half.
    costs = n * n / 2, n * m, m * m / 2

    def part(number: int) -> ProgressCallback:
        before, own, whole = sum(costs[:number]), costs[number], sum(costs)
        return lambda share: progress(min(1.0, (before + share * own) / whole)) if progress else None

    own = sums_within(generated, _kernel, part(0))
    across = sums_across(generated, reference, _kernel, part(1))[0]
    other = sums_within(reference, _kernel, part(2))
    return squared_mmd_of(own, across, other)


def squared_mmd_of(own: Vector, across: Vector, reference: Vector) -> Estimate:
    """:func:`squared_mmd` from sums of kernel values: of every generated image with all other generated images (n,) and
    with all reference images (n,), and of every reference image with all other reference images (m,)."""
    n, m = len(own), len(reference)
    within, between = own / (n - 1), across / m
    value = within.mean() + reference.mean() / (m - 1) - 2.0 * between.mean()
    return Estimate(float(value), float(2.0 * (within - between).std(ddof=1) / np.sqrt(n)))


class KernelRowSums:
    """Finds the sum of the kernel values of every row of the first set of a pairing with all rows of the second set. If
    both are one set, a row's value with itself is left out.

        k = (a + t)^3 = a^3 + 3 a^2 t + 3 a t^2 + t^3,   a the mean of x . y / d + 1 over all pairs

    The sums of t come from single rows, in float64. Only the sums of its square and cube come from float32 products,
    and their factors make the rounding small.
    """

    def __init__(self, pairing: Pairing) -> None:
        self._pairing = pairing
        along, other_along = pairing.along_centre
        centre = pairing.centre * pairing.scale
        # The centre is the mean of the second set, so the mean of X . Y over Y is X . C.
        self._mean = float(along.mean())
        self._lengths = pairing.own_squares + 2.0 * along - centre @ centre
        self._own, self._other = along - self._mean, (other_along - centre @ centre).astype(np.float32)
        self._squares, self._cubes = np.zeros(len(along)), np.zeros(len(along))

    def add(self, strip: DistanceStrip) -> None:
        rest = strip.products * np.float32(-0.5)
        rest += self._own[strip.rows, None].astype(np.float32)
        rest += self._other
        powers = np.square(rest)
        self._squares[strip.rows] = powers.sum(axis=1, dtype=np.float64)
        powers *= rest
        self._cubes[strip.rows] = powers.sum(axis=1, dtype=np.float64)

    def result(self) -> Vector:
        """The sums, (n,), after all pairs."""
        pairing = self._pairing
        count, unit = len(pairing.other), 1.0 / (pairing.scale**2 * pairing.own.shape[1])
        mean = 1.0 + self._mean * unit
        sums = count * (mean**3 + 3.0 * mean**2 * unit * self._own)
        sums += 3.0 * mean * unit**2 * self._squares + unit**3 * self._cubes
        if pairing.is_single_set:
            sums -= (1.0 + self._lengths * unit) ** 3
        return np.asarray(sums)


def reference_sums_of(reference: Features, *, progress: ProgressCallback | None = None) -> Vector:
    """The sum of the kernel values of every row of features (m, d) with all other rows, (m,) float64; worth storing.

    Raises the errors of :func:`squared_mmd`.
    """
    _require(reference, "reference")
    return sums_within(reference, _kernel, progress or (lambda _share: None))


def _require(features: Features, name: str) -> None:
    require_matrix(features, name, min_rows=2)
    require_finite(features, name)


def _kernel(left: Vector, right: Vector) -> Vector:
    """All values k(x, y) of float64 rows x and y."""
    values: Vector = left @ right.T
    values /= left.shape[1]
    values += 1.0
    values *= np.square(values)
    return values
