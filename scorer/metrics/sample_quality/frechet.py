"""FID: the Fréchet distance between normal distributions fitted to two sets of features.

    FID = |mu_g - mu_r|^2 + tr S_g + tr S_r - 2 tr (S_r S_g)^(1/2)        (Heusel et al. 2017, eq. 6)

The matrix square root is never formed. With any factor S_r = L L^T, the eigenvalues of S_r S_g are those of the
symmetric L^T S_g L, so the last trace is the sum of their roots. With S_g = F F^T it is also the nuclear norm (the sum
of the singular values) of F^T L, because S_r S_g and (F^T L)(F^T L)^T have the same non-zero eigenvalues. The first
form is faster. The second is exact for a singular covariance, where the first takes roots of rounding noise: the root
of 1e-16 is 1e-8.
"""

from dataclasses import dataclass

import numpy as np
import scipy

from scorer.errors import Invalid
from scorer.metrics.features import Features, Vector, require_finite, require_matrix, require_same_dimension

# If a pivot of the Cholesky factor is smaller than this share of the largest variance, the covariance has lost digits
# that the data still have. Above it, the eigenvalue form was within 1e-10 of tr S_g + tr S_r for every spectrum tried;
# the required bound is 1e-9.
MIN_PIVOT = 1e-9


@dataclass(frozen=True, eq=False)
class Statistics:
    """Mean and covariance of one set of features, all float64.

    ``mean`` (d,), ``covariance`` (d, d) unbiased (divided by n - 1), ``count`` n. ``factor`` (d, k) is
    any F with F F^T = covariance, or None.
    """

    mean: Vector
    covariance: Vector
    count: int
    factor: Vector | None = None

    def __post_init__(self) -> None:
        """Refuse parts with contradictory shapes (:class:`Invalid`, ``bad-statistics``)."""
        d = self.mean.shape[0] if self.mean.ndim == 1 else 0
        fits = self.covariance.shape == (d, d) and d > 0
        if self.factor is not None:
            fits = fits and self.factor.ndim == 2 and self.factor.shape[0] == d
        if not fits:
            shapes = self.mean.shape, self.covariance.shape, None if self.factor is None else self.factor.shape
            raise Invalid("bad-statistics", f"The shapes {shapes} of mean, covariance and factor do not match.")


def statistics_of(features: Features) -> Statistics:
    """Mean, unbiased covariance and factor of features (n, d), float32 or float64, n >= 2.

    If the covariance has lost digits, the factor comes from the data. For n < d it is the centred data
    (d, n) / sqrt(n - 1). For a nearly singular covariance (n = d, many equal rows, a feature that is always 0) it is
    the transposed R of their QR decomposition. Otherwise it is Cholesky's.

    Raises :class:`Invalid` (``bad-features``, ``too-few-images``, ``degenerate-features``).
    """
    require_matrix(features, "given", min_rows=2)
    require_finite(features, "given")
    count, dimension = features.shape
    mean = features.mean(axis=0, dtype=np.float64)
    centred = features - mean
    centred /= np.sqrt(count - 1)
    if count < dimension:
        factor = np.ascontiguousarray(centred.T)
        return Statistics(mean, factor @ factor.T, count, factor)
    covariance = centred.T @ centred
    triangle = _cholesky(covariance, MIN_PIVOT)
    if triangle is None:
        triangle = np.ascontiguousarray(np.asarray(np.linalg.qr(centred, mode="r"), np.float64).T)
    return Statistics(mean, covariance, count, triangle)


def frechet_distance(a: Statistics, b: Statistics) -> float:
    """The squared Fréchet distance between two normal distributions: FID, >= 0; smaller means more alike.

    ``a`` is the generated set and ``b`` the reference; the distance is symmetric. The error is at most 1e-9 of
    tr S_g + tr S_r. Raises :class:`Invalid` (``dimension-mismatch``, ``bad-statistics`` for numbers that are not finite
    or a covariance with a negative eigenvalue).
    """
    require_same_dimension(len(a.mean), len(b.mean))
    for statistics in (a, b):
        if not (np.isfinite(statistics.mean).all() and np.isfinite(statistics.covariance).all()):
            raise Invalid("bad-statistics", "The mean or the covariance contains numbers that are not finite.")
    shift = a.mean - b.mean
    spread = float(np.trace(a.covariance) + np.trace(b.covariance))
    return max(0.0, float(shift @ shift) + spread - 2.0 * _trace_of_root(a, b))


def _trace_of_root(a: Statistics, b: Statistics) -> float:
    """tr (S_b S_a)^(1/2), in the form that is exact for these covariances."""
    left, right = factor_of(a), factor_of(b)
    if is_regular(left, a.covariance) and is_regular(right, b.covariance):
        values = _eigenvalues_between(right, a.covariance)
        return float(np.sqrt(np.maximum(values, 0.0)).sum())
    product = left.T @ right
    return float(np.linalg.svd(product, compute_uv=False).sum()) if product.size else 0.0


def _eigenvalues_between(triangle: Vector, covariance: Vector) -> Vector:
    """The eigenvalues of L^T S L with L lower triangular.

    LAPACK's product for this, dsygst, uses both structures, unlike two matrix products. Its result is graded, because
    L's columns become smaller to the right. With the lower triangle, the small eigenvalues keep their digits; with the
    upper triangle, the trace of the root lost five of them.
    """
    # .T gives the memory order that LAPACK expects.
    product, failed = scipy.linalg.lapack.dsygst(covariance.T, triangle, itype=2, lower=1)
    if failed:
        raise ArithmeticError(f"dsygst failed: {failed}")
    # numpy's eigvalsh: scipy's holds the interpreter's lock, and on busy cores a worker's heartbeat was late by 20 s.
    return np.linalg.eigvalsh(product, UPLO="L")


def factor_of(statistics: Statistics) -> Vector:
    """The factor stored with the statistics, or Cholesky's, or V sqrt(w) without eigenvalues that are 0 up to rounding.

    Raises :class:`Invalid` (``bad-statistics``) for a covariance with a negative eigenvalue.
    """
    if statistics.factor is not None:
        return statistics.factor
    noise = len(statistics.mean) * np.finfo(np.float64).eps
    triangle = _cholesky(statistics.covariance, noise)
    if triangle is not None:
        return triangle
    values, vectors = np.linalg.eigh(statistics.covariance)
    if values[0] < -MIN_PIVOT * values[-1]:  # more than rounding: no set of features has this covariance
        raise Invalid("bad-statistics", f"The covariance has the negative eigenvalue {values[0]:.3g}.")
    positive = values > noise * values[-1]
    return np.asarray(vectors[:, positive] * np.sqrt(values[positive]))


def _cholesky(covariance: Vector, share: float) -> Vector | None:
    """The Cholesky factor; None if a pivot is not larger than this share of the largest variance."""
    try:
        triangle = np.asarray(np.linalg.cholesky(covariance), np.float64)
    except np.linalg.LinAlgError:
        return None
    return triangle if is_regular(triangle, covariance, share) else None


def is_regular(factor: Vector, covariance: Vector, share: float = MIN_PIVOT) -> bool:
    """Whether a covariance is safely positive definite, from the diagonal of its triangular factor.

    A factor that is not triangular does not bound the smallest singular value and counts as irregular.
    """
    if factor.shape[0] != factor.shape[1] or any(row[place + 1 :].any() for place, row in enumerate(factor)):
        return False
    return bool(np.square(factor.diagonal()).min() > share * covariance.diagonal().max())
