"""Sums of a kernel over all pairs of rows, in float64 and in tiles, without holding n x m numbers in memory."""

from collections.abc import Callable

import numpy as np

from scorer.metrics.features import Features, Vector
from scorer.progress import ProgressCallback

_BLOCK = 1024  # rows on each side of a tile of kernel values: 8 MB, and 66 MB of features at d = 4032
_WIDTH_ROWS = 1000

Kernel = Callable[[Vector, Vector], Vector]
"""All values k(x, y) of float64 rows x (a, d) and y (b, d), as (a, b)."""


def gaussian_kernel(sigma: float) -> Kernel:
    """k(x, y) = exp(-|x - y|^2 / (2 sigma^2))."""

    def kernel(left: Vector, right: Vector) -> Vector:
        values = squared_distances(left, right)
        values *= -0.5 / sigma**2
        return np.asarray(np.exp(values, out=values))

    return kernel


def squared_distances(left: Vector, right: Vector) -> Vector:
    """All squared distances of float64 rows (a, d) and (b, d), as (a, b). For nearly equal rows, rounding leaves about
    1e-15 of their squared lengths, which does not matter for a Gaussian kernel."""
    values: Vector = left @ right.T
    values *= -2.0
    values += np.square(left).sum(axis=1)[:, None]
    values += np.square(right).sum(axis=1)
    return np.asarray(np.maximum(values, 0.0, out=values))


def median_width(one: Features, other: Features) -> float:
    """sigma of a Gaussian kernel: the root of half the median non-zero squared distance between the first 1,000 rows of
    (n, d) and (m, d), or between different rows of one set; 1 if there is none."""
    left, right = (features[:_WIDTH_ROWS].astype(np.float64) for features in (one, other))
    squares = squared_distances(left, right)
    if one is other:
        np.fill_diagonal(squares, 0.0)
    apart = squares[squares > 0.0]
    return float(np.sqrt(np.median(apart) / 2.0)) if len(apart) else 1.0


def sums_within(features: Features, kernel: Kernel, report: ProgressCallback) -> Vector:
    """The sum of the kernel values of every row with all other rows, (n,)."""
    count = len(features)
    sums = np.zeros(count)
    for row in range(0, count, _BLOCK):
        left = features[row : row + _BLOCK].astype(np.float64)
        for column in range(row, count, _BLOCK):
            tile = kernel(left, features[column : column + _BLOCK].astype(np.float64))
            if column == row:
                np.fill_diagonal(tile, 0.0)
            else:
                sums[column : column + _BLOCK] += tile.sum(axis=0)
            sums[row : row + _BLOCK] += tile.sum(axis=1)
        left_over = max(0, count - row - _BLOCK) / count
        report(1.0 - left_over**2)
    return sums


def sums_across(own: Features, other: Features, kernel: Kernel, report: ProgressCallback) -> tuple[Vector, Vector]:
    """The sums of the kernel values of every row of one set with all rows of the other, (n,) and (m,)."""
    by_own, by_other = np.zeros(len(own)), np.zeros(len(other))
    for row in range(0, len(own), _BLOCK):
        left = own[row : row + _BLOCK].astype(np.float64)
        for column in range(0, len(other), _BLOCK):
            tile = kernel(left, other[column : column + _BLOCK].astype(np.float64))
            by_own[row : row + _BLOCK] += tile.sum(axis=1)
            by_other[column : column + _BLOCK] += tile.sum(axis=0)
        report(min(1.0, (row + _BLOCK) / len(own)))
    return by_own, by_other
