"""Correlation of paired values: Pearson, Spearman, mean rank difference, common leaders; and quantiles.

Compares two measurements of the same entries. A number that does not exist (nothing to compare, no spread) is None.
"""

from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike

from scorer.errors import Invalid
from scorer.metrics.features import Vector

SHARES = MappingProxyType(
    {
        "least": 0.0,
        "percent_1": 0.01,
        "percent_25": 0.25,
        "median": 0.5,
        "percent_75": 0.75,
        "percent_99": 0.99,
        "most": 1.0,
    }
)


def quantiles(values: Vector) -> dict[str, float]:
    """Quantiles of values (n,), n >= 1, by name, interpolated linearly between neighbours (as ``numpy.percentile``
    does)."""
    return dict(zip(SHARES, np.quantile(values, [*SHARES.values()]).tolist(), strict=True))


def pearson(first: ArrayLike, second: ArrayLike) -> float | None:
    """The linear correlation r = cov(x, y) / (sd(x) sd(y)) of pairs (n,) and (n,); None for fewer than two pairs, or if
    one side does not vary."""
    x, y = _pair(first, second)
    if len(x) < 2 or not np.ptp(x) or not np.ptp(y):
        return None
    x, y = x - x.mean(), y - y.mean()
    return float(np.clip(x @ y / np.sqrt((x @ x) * (y @ y)), -1.0, 1.0))


def spearman(first: ArrayLike, second: ArrayLike) -> float | None:
    """The correlation of the ranks; equal values share the mean of their ranks."""
    x, y = _pair(first, second)
    return pearson(ranks(x), ranks(y))


def ranks(values: ArrayLike) -> Vector:
    """Ranks from 1 (the lowest) of values (n,); equal values share the mean of their ranks."""
    # scipy.stats.rankdata would load scipy.stats, 60 MB, into the web process.
    _, places, counts = np.unique(np.asarray(values, dtype=np.float64), return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - (counts - 1) / 2)[places], dtype=np.float64)


def mean_rank_difference(first: ArrayLike, second: ArrayLike) -> float | None:
    """mean |rank(x) - rank(y)| (Bai et al. 2021, section 4); None without pairs."""
    x, y = _pair(first, second)
    return float(np.abs(ranks(x) - ranks(y)).mean()) if len(x) else None


def leaders_in_common(first: ArrayLike, second: ArrayLike, count: int) -> int:
    """How many of the ``count`` lowest values are the same on both sides; ties to the earlier value."""
    x, y = _pair(first, second)
    leading = (set(np.argsort(side, kind="stable")[:count].tolist()) for side in (x, y))
    return len(set.intersection(*leading))


def _pair(first: ArrayLike, second: ArrayLike) -> tuple[Vector, Vector]:
    x, y = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if x.shape != y.shape or x.ndim != 1:
        raise Invalid("bad-pairs", f"There are {x.size} values on one side and {y.size} on the other.")
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise Invalid("bad-pairs", "Only finite numbers can be compared.")
    return x, y
