"""Partial copying: how many images are closer to the training images than held-out images are.

The mean distance of an entry with half honest images and half copies may stay above tau. So this test counts the
generated images that are closer to the training images than all but 1 % of the held-out images: those below the r-th
smallest of the n held-out distances, r = n / 100 rounded up.

If nothing is copied, all n + m distances come from one distribution. Then the number K of generated images below the
limit has the beta-binomial distribution, for any distribution of the distances. The probability of a distance below the
limit is Beta(r, n - r + 1), and each of the m generated images is below it with that probability. So
E(K) / m = r / (n + 1).
A plain binomial test at 1 % would ignore that the limit is random, and raise false alarms with few held-out images.
Ties only make K smaller.
"""

from dataclasses import dataclass
from math import ceil

import numpy as np
import scipy

from scorer.errors import Invalid
from scorer.metrics.features import Vector
from scorer.metrics.statistics.class_separation import distances_of

QUANTILES = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
HELD_OUT_SHARE = 0.01  # the share of the held-out images that defines the limit


@dataclass(frozen=True)
class DistanceQuantile:
    """The quantile at probability ``level`` of the distances of both kinds of images."""

    level: float
    generated: float
    standard_error: float
    """The standard error of ``generated`` over the choice of generated images."""
    held_out: float


@dataclass(frozen=True)
class PartialCopying:
    """Distance quantiles of both kinds of images, and the number of generated images below the limit."""

    quantiles: tuple[DistanceQuantile, ...]
    limit: float
    """The distance with only ``rank`` - 1 held-out images below it."""
    rank: int
    below: int
    """The number of generated images closer than ``limit``."""
    generated: int
    held_out: int

    @property
    def share(self) -> float:
        """The share of the generated images that are closer than ``limit``."""
        return self.below / self.generated

    @property
    def expected(self) -> float:
        """The expected share if nothing is copied."""
        return self.rank / (self.held_out + 1)

    @property
    def standard_error(self) -> float:
        """Standard error of ``share`` over the choice of generated images, for the same limit."""
        return float(np.sqrt(self.share * (1.0 - self.share) / self.generated))

    @property
    def p_value(self) -> float:
        """The probability of at least this many images below the limit if nothing is copied."""
        return float(scipy.stats.betabinom.sf(self.below - 1, self.generated, self.rank, self.held_out - self.rank + 1))

    @property
    def is_informative(self) -> bool:
        """False if held-out images are at distance 0: then no image can be below, and the test shows nothing."""
        return self.limit > 0.0


def partial_copying(generated: Vector, held_out: Vector, *, rare: float = HELD_OUT_SHARE) -> PartialCopying:
    """Compare the distances to the nearest training image of generated (m,) and held-out images (n,).

    Accepts any distance, the same for both. Raises :class:`Invalid`: ``too-few-images``, ``bad-distances``.
    """
    of_generated, of_held_out = distances_of(generated), distances_of(held_out)
    if not len(of_generated) or not len(of_held_out):
        raise Invalid("too-few-images", "At least one generated and one held-out image are needed.")
    rank = max(1, ceil(rare * len(of_held_out) - 1e-9))  # 1e-9: 0.07 * 100 is more than 7 in floating point
    limit = float(np.partition(of_held_out, rank - 1)[rank - 1])
    ordered = np.sort(of_generated)
    both = np.quantile(ordered, QUANTILES), np.quantile(of_held_out, QUANTILES)
    quantiles = tuple(
        DistanceQuantile(level, float(one), quantile_error(ordered, level), float(other))
        for level, one, other in zip(QUANTILES, *both, strict=True)
    )
    return PartialCopying(
        quantiles, limit, rank, int((of_generated < limit).sum()), len(of_generated), len(of_held_out)
    )


def quantile_error(ordered: Vector, level: float) -> float:
    """The standard error of a quantile of ascending values (n,): the spread of the quantile over bootstrap samples,
    computed without drawing (Maritz and Jarrett 1978).

    The probability that a bootstrap sample's quantile is at most the i-th value is the beta distribution function at
    i / n.
    """
    count = len(ordered)
    below = scipy.special.betainc((count + 1) * level, (count + 1) * (1.0 - level), np.arange(count + 1) / count)
    weights = np.diff(below)
    return float(np.sqrt(weights @ np.square(ordered - weights @ ordered)))
