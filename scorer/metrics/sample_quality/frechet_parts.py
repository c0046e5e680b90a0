"""Fréchet distances of many parts of one set of features to one reference.

With X the centred features and S_r = L L^T, the trace of the root in :mod:`scorer.metrics.sample_quality.frechet` needs
the eigenvalues of L^T S_g L, which is the covariance of the rows of Y = X L. So Y is made once, and the covariance of
a part of it is that of all rows less that of the rows which are left out, where these are fewer. Whether S_g is safely
regular is told by the pivots of its Cholesky factor, in reverse order: with S_g = C C^T and C upper triangular, L^T C
is the upper triangular factor of L^T S_g L, so C has the diagonal of that factor divided by L's.
"""

import numpy as np

from scorer.metrics.cosine import Indices
from scorer.metrics.features import Features, Vector, require_finite, require_matrix, require_same_dimension
from scorer.metrics.sample_quality.frechet import (
    MIN_PIVOT,
    Statistics,
    factor_of,
    frechet_distance,
    is_regular,
    statistics_of,
    with_factor,
)


class PartDistances:
    """Distances of parts of features (n, d), float32 or float64, to a reference. Raises :class:`Invalid` as
    :func:`frechet_distance` does."""

    def __init__(self, features: Features, reference: Statistics) -> None:
        require_matrix(features, "generated", min_rows=2)
        require_finite(features, "generated")
        require_same_dimension(features.shape[1], len(reference.mean))
        self._features, self._reference = features, with_factor(reference)
        self._mean = features.mean(axis=0, dtype=np.float64)
        centred = features - self._mean
        self._lengths = np.square(centred).sum(axis=1)
        self._largest = float(np.square(centred).sum(axis=0).max())
        factor = factor_of(self._reference)
        self._factor = factor if is_regular(factor, reference.covariance) else None
        if self._factor is not None:
            self._projected: Vector = centred @ self._factor
            self._products: Vector = self._projected.T @ self._projected

    def distance(self, rows: Indices) -> float:
        """The distance of the images with these row numbers, two or more and each once, to the reference."""
        shift = self._features[rows].mean(axis=0, dtype=np.float64) - self._mean
        trace = self._trace_of_root(rows, shift)
        if trace is None:
            return frechet_distance(statistics_of(self._features[rows]), self._reference)
        apart = self._mean + shift - self._reference.mean
        spread = (self._lengths[rows].sum() - len(rows) * (shift @ shift)) / (len(rows) - 1)
        spread += np.trace(self._reference.covariance)
        return max(0.0, float(apart @ apart + spread - 2.0 * trace))

    def _trace_of_root(self, rows: Indices, shift: Vector) -> float | None:
        """tr (S_r S_g)^(1/2); None where S_g is not safely regular."""
        if self._factor is None or len(rows) <= len(shift):
            return None
        covariance = self._products_of(rows)
        mean = shift @ self._factor
        covariance -= len(rows) * np.outer(mean, mean)
        covariance /= len(rows) - 1
        try:
            pivots = np.linalg.cholesky(covariance[::-1, ::-1]).diagonal()[::-1] / self._factor.diagonal()
        except np.linalg.LinAlgError:
            return None
        # The largest variance of a part is at most that of all images, were their squares those of its own.
        if not np.square(pivots).min() > MIN_PIVOT * self._largest / (len(rows) - 1):
            return None
        return float(np.sqrt(np.maximum(np.linalg.eigvalsh(covariance, UPLO="L"), 0.0)).sum())

    def _products_of(self, rows: Indices) -> Vector:
        """The sum over ``rows`` of the products of a row of Y with itself."""
        left_out = np.ones(len(self._features), np.bool_)
        left_out[rows] = False
        if 2 * len(rows) <= len(left_out):
            some = self._projected[rows]
            return np.asarray(some.T @ some)
        some = self._projected[left_out]
        return np.asarray(self._products - some.T @ some)
