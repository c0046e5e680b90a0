"""FID-infinity: the Fréchet distance extrapolated to infinitely many generated images.

    FID_N = FID_inf + slope / N + ...                                      (Chong and Forsyth 2020, section 4)

FID is too high by about slope / N, and each generator has its own slope, so this can change an order. FID is measured
on 15 random parts of 5,000 to n images, and a line in 1 / N is extrapolated to 0. This corrects for the number of
generated images, not of reference images. FID-infinity is shown but never ranked by.

The parts share images, so the residuals of the line say little about its error. The standard error is a jackknife of
the intercept over the images. Each image is in some parts, with the weights of the line. Leaving it out moves the
distance of each of these parts by its influence (:mod:`scorer.metrics.sample_quality.frechet_standard_error`). This
covers the choice of the images and the draw of the parts.

The distances of many parts are computed as follows. Let X be the centred features and S_r = L L^T. The trace of the
root in :mod:`scorer.metrics.sample_quality.frechet` needs the eigenvalues of L^T S_g L, which is the covariance of the
rows of Y = X L. So Y is computed once. The covariance of a part is that of all rows minus that of the remaining rows,
if these are fewer. The pivots of the Cholesky factor of S_g, in reverse order, show whether S_g is safely regular: with
S_g = C C^T and C upper triangular, L^T C is the upper triangular factor of L^T S_g L. So the diagonal of C is that of
this factor divided by that of L.
"""

import numpy as np

from scorer.metrics.cosine import Indices
from scorer.metrics.features import Estimate, Features, Vector, require_finite, require_matrix, require_same_dimension
from scorer.metrics.sample_quality.frechet import (
    MIN_PIVOT,
    Statistics,
    factor_of,
    frechet_distance,
    is_regular,
    statistics_of,
)
from scorer.metrics.threads import map_parts
from scorer.progress import ProgressCallback


class PartDistances:
    """Distances of parts of features (n, d), float32 or float64, to a reference. Raises the errors of
    :func:`frechet_distance`."""

    def __init__(self, features: Features, reference: Statistics) -> None:
        require_matrix(features, "generated", min_rows=2)
        require_finite(features, "generated")
        require_same_dimension(features.shape[1], len(reference.mean))
        self._features, self._reference = features, reference
        self._mean = features.mean(axis=0, dtype=np.float64)
        centred = features - self._mean
        self._lengths = np.square(centred).sum(axis=1)
        self._largest = float(np.square(centred).sum(axis=0).max())
        factor = factor_of(reference)
        self._factor = factor if is_regular(factor, reference.covariance) else None
        if self._factor is not None:
            self._projected: Vector = centred @ self._factor
            self._products: Vector = self._projected.T @ self._projected

    def distance(self, rows: Indices) -> float:
        """The distance of the images with these row numbers to the reference; two or more rows, each once."""
        shift = self._features[rows].mean(axis=0, dtype=np.float64) - self._mean
        trace = self._trace_of_root(rows, shift)
        if trace is None:
            return frechet_distance(statistics_of(self._features[rows]), self._reference)
        apart = self._mean + shift - self._reference.mean
        spread = (self._lengths[rows].sum() - len(rows) * (shift @ shift)) / (len(rows) - 1)
        spread += np.trace(self._reference.covariance)
        return max(0.0, float(apart @ apart + spread - 2.0 * trace))

    def _trace_of_root(self, rows: Indices, shift: Vector) -> float | None:
        """tr (S_r S_g)^(1/2); None if S_g is not safely regular."""
        if self._factor is None or len(rows) <= len(shift):
            return None
        covariance = self._sum_products(rows)
        mean = shift @ self._factor
        covariance -= len(rows) * np.outer(mean, mean)
        covariance /= len(rows) - 1
        try:
            pivots = np.linalg.cholesky(covariance[::-1, ::-1]).diagonal()[::-1] / self._factor.diagonal()
        except np.linalg.LinAlgError:
            return None
        # The variance of a part is at most its share of the sum of squares of all images.
        if not np.square(pivots).min() > MIN_PIVOT * self._largest / (len(rows) - 1):
            return None
        return float(np.sqrt(np.maximum(np.linalg.eigvalsh(covariance, UPLO="L"), 0.0)).sum())

    def _sum_products(self, rows: Indices) -> Vector:
        """The sum over ``rows`` of the outer products of the rows of Y."""
        left_out = np.ones(len(self._features), np.bool_)
        left_out[rows] = False
        if 2 * len(rows) <= len(left_out):
            some = self._projected[rows]
            return np.asarray(some.T @ some)
        some = self._projected[left_out]
        return np.asarray(self._products - some.T @ some)


SIZES = 15
MIN_SIZE = 5000


def fid_infinity(
    features: Features,
    reference: Statistics,
    *,
    influences: Vector | None,
    random: np.random.Generator,
    sizes: int = SIZES,
    min_size: int = MIN_SIZE,
    progress: ProgressCallback | None = None,
) -> Estimate | None:
    """Extrapolate the distance of features (n, d), float32 or float64, to n = infinity; None for n <= ``min_size``.

    The result can be below 0 for a nearly perfect entry. Its error is over the choice of the images and of the parts.
    ``influences`` (n,) are those of the images on the distance; without them there is no error. The last part is all
    images. ``progress`` is called with the finished share, rising to 1.0. Raises the errors of
    :func:`frechet_distance`.
    """
    require_matrix(features, "generated", min_rows=2)
    require_same_dimension(features.shape[1], len(reference.mean))
    if len(features) <= min_size:
        return None
    parts = PartDistances(features, reference)
    counts = np.linspace(min_size, len(features), sizes).astype(np.int64)
    weights = intercept_weights(counts)
    distances = np.empty(sizes)
    moved = np.zeros(len(features))
    drawn = [np.sort(random.choice(len(features), count, replace=False)) for count in counts]
    for number, distance in enumerate(map_parts(parts.distance, drawn)):
        distances[number] = distance
        rows, count = drawn[number], counts[number]
        if influences is not None:
            moved[rows] += weights[number] * (influences[rows] - influences[rows].mean()) / count
        if progress:
            progress((number + 1) / sizes)
    error = None if influences is None else float(np.sqrt(moved @ moved))
    return Estimate(float(weights @ distances), error)


def intercept_weights(counts: Indices) -> Vector:
    """The weights (k,) that turn the distances of parts of ``counts`` images, k >= 3, into the intercept of their
    least-squares line in 1 / counts."""
    inverse = 1.0 / np.asarray(counts, np.float64)
    centred = inverse - inverse.mean()
    return np.asarray(1.0 / len(inverse) - inverse.mean() * centred / (centred @ centred))
