"""The Mann-Whitney rank-sum test: does one of two samples have larger values? Ties count half.

    U = #{(p, q): q > p} + #{(p, q): q = p} / 2                     p of ``low`` (n), q of ``high`` (m)
    U / (n m)  estimates  Delta = Pr(q > p) + Pr(q = p) / 2         (Meehan et al. 2020, theorem 1)
    Z = (U - n m / 2) / sigma
    sigma^2 = n m / 12 * (N + 1 - sum of (t^3 - t) / (N (N - 1)))   N = n + m, t the sizes of the ties

sigma^2 is the exact variance of U if both samples come from one distribution, given the ties. Without ties it is
n m (N + 1) / 12. Hundreds of copies of training images can tie at distance 0, and then the ties matter.
"""

from dataclasses import dataclass

import numpy as np
import scipy

from scorer.errors import Invalid
from scorer.metrics.features import Vector
from scorer.metrics.statistics.correlation import ranks


@dataclass(frozen=True)
class MannWhitney:
    """U with its distribution under the hypothesis that both samples come from one distribution."""

    wins: float
    """U: the number of pairs in which the value of the second sample is larger; ties count half."""
    low: int
    high: int
    deviation: float
    """The standard deviation of U under the hypothesis; 0 if all values are equal."""

    @property
    def share(self) -> float:
        """U / (n m) in [0, 1]: 1/2 is expected if both samples come from one distribution."""
        return self.wins / (self.low * self.high)

    @property
    def z(self) -> float:
        """U in standard deviations from its expectation; 0 if all values are equal, which shows nothing."""
        return (self.wins - self.low * self.high / 2.0) / self.deviation if self.deviation else 0.0

    @property
    def p_smaller(self) -> float:
        """One-sided p-value for smaller values in the second sample; normal, without continuity correction."""
        return float(scipy.special.ndtr(self.z))

    @property
    def p_larger(self) -> float:
        """One-sided p-value for larger values in the second sample."""
        return float(scipy.special.ndtr(-self.z))


def mann_whitney(high: Vector, low: Vector) -> MannWhitney:
    """Compare two samples, (m,) and (n,). ``wins`` counts the pairs in which the value of ``high`` is larger.

    Raises :class:`Invalid`: ``too-few-images`` for an empty sample, ``degenerate-distances`` for nan.
    """
    if not len(high) or not len(low):
        raise Invalid("too-few-images", "A sample is empty; both samples need at least one value.")
    both = np.concatenate((high, low)).astype(np.float64)
    if np.isnan(both).any():
        raise Invalid("degenerate-distances", "A sample contains NaN, which has no rank.")
    n, m, total = len(low), len(high), len(both)
    wins = float(ranks(both)[:m].sum()) - m * (m + 1) / 2
    ties = np.unique(both, return_counts=True)[1].astype(np.float64)
    tied = float((ties**3 - ties).sum()) / (total * (total - 1))
    return MannWhitney(wins, n, m, float(np.sqrt(max(0.0, n * m / 12.0 * (total + 1 - tied)))))
