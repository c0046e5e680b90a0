"""The Mann-Whitney rank-sum test: which of two samples has the larger values. Ties count half.

    U = #{(p, q): q > p} + #{(p, q): q = p} / 2                     p of ``low`` (n), q of ``high`` (m)
    U / (n m)  estimates  Delta = Pr(q > p) + Pr(q = p) / 2         (Meehan et al. 2020, theorem 1)
    Z = (U - n m / 2) / sigma
    sigma^2 = n m / 12 * (N + 1 - sum of (t^3 - t) / (N (N - 1)))   N = n + m, t the sizes of the ties

sigma^2 is the exact variance of U when both samples come from one law, given the ties; without ties it is
n m (N + 1) / 12. Copies of training images tie at distance 0 by the hundred, and there it matters.
"""

from dataclasses import dataclass

import numpy as np
import scipy

from scorer.errors import Invalid
from scorer.metrics.features import Vector
from scorer.metrics.statistics.correlation import ranks


@dataclass(frozen=True)
class MannWhitney:
    """U with its distribution under the hypothesis that the samples come from one distribution."""

    wins: float
    """U: in how many pairs the value of the second sample is the larger one, ties half."""
    low: int
    high: int
    deviation: float
    """The standard deviation of U under the hypothesis; 0 where all values are equal."""

    @property
    def share(self) -> float:
        """U / (n m) in [0, 1]: 1/2 is expected where the samples come from one law."""
        return self.wins / (self.low * self.high)

    @property
    def z(self) -> float:
        """U in standard deviations from its expectation; 0 where all values are equal, which shows nothing."""
        return (self.wins - self.low * self.high / 2.0) / self.deviation if self.deviation else 0.0

    @property
    def p_smaller(self) -> float:
        """One-sided p-value for the second sample being the smaller one; normal, without correction."""
        return float(scipy.special.ndtr(self.z))

    @property
    def p_larger(self) -> float:
        """One-sided p-value for the second sample being the larger one."""
        return float(scipy.special.ndtr(-self.z))


def mann_whitney(high: Vector, low: Vector) -> MannWhitney:
    """Compare two samples, (m,) and (n,); ``wins`` counts the pairs where ``high`` is the larger one.

    Raises :class:`Invalid`: ``too-few-images`` for an empty sample, ``degenerate-distances`` for nan.
    """
    if not len(high) or not len(low):
        raise Invalid("too-few-images", "An empty sample can't be compared with anything.")
    both = np.concatenate((high, low)).astype(np.float64)
    if np.isnan(both).any():
        raise Invalid("degenerate-distances", "Values that are not numbers have no rank.")
    n, m, total = len(low), len(high), len(both)
    wins = float(ranks(both)[:m].sum()) - m * (m + 1) / 2
    ties = np.unique(both, return_counts=True)[1].astype(np.float64)
    tied = float((ties**3 - ties).sum()) / (total * (total - 1))
    return MannWhitney(wins, n, m, float(np.sqrt(max(0.0, n * m / 12.0 * (total + 1 - tied)))))
