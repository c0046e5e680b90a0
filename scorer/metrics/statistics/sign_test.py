"""The sign test on pairs: do errors rise when targets are distorted?

Of n targets without ties, r have a larger error when distorted. If distortion changed nothing, r would be binomial
with n and 1/2.
"""

from dataclasses import dataclass

import numpy as np
import scipy

from scorer.metrics.features import Vector
from scorer.metrics.statistics.class_separation import distances_of


@dataclass(frozen=True)
class SignTest:
    """Errors of the same targets before and after: the medians, and the numbers that increased and decreased."""

    before: float
    after: float
    increased: int
    decreased: int
    count: int

    @property
    def p_value(self) -> float:
        """The probability that at least this many increase if distortion changes nothing."""
        return float(scipy.stats.binom.sf(self.increased - 1, self.increased + self.decreased, 0.5))


def sign_test(before: Vector, after: Vector) -> SignTest:
    """Compare the errors (n,) of targets, n >= 1, with those of the same targets after distortion.

    Raises :class:`Invalid` (``bad-distances``).
    """
    one, other = distances_of(before), distances_of(after)
    increased, decreased = int((other > one).sum()), int((other < one).sum())
    return SignTest(float(np.median(one)), float(np.median(other)), increased, decreased, len(one))
