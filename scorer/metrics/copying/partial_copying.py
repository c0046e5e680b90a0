"""Partial copying: how many images are closer to the training images than held-out images are.

The mean distance of an entry of half honest images and half copies may stay above tau. So this test counts the
generated images that are closer to the training images than all but 1 % of the held-out images: below the r-th smallest
of the n held-out distances, r = n / 100 rounded up.

If nothing is copied, all n + m distances come from one law, and the number K of generated images below the limit has,
whatever that law, the beta-binomial distribution: the share of the law below the limit is Beta(r, n - r + 1), and each
of the m generated images falls below it with that probability. E(K) / m = r / (n + 1). A plain binomial test at 1 %
would take the limit, itself random, for known, and with few held-out images raise false alarms. Ties only make K
smaller.
"""

from dataclasses import dataclass
from math import ceil

import numpy as np
import scipy

from scorer.errors import Invalid
from scorer.metrics.features import Vector
from scorer.metrics.statistics.class_separation import distances_of

QUANTILES = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
HELD_OUT_SHARE = 0.01  # of the held-out images are this close


@dataclass(frozen=True)
class DistanceQuantile:
    """The quantile at probability ``level`` of the distances of either kind of images."""

    level: float
    generated: float
    standard_error: float
    """Of ``generated``, over the choice of generated images."""
    held_out: float


@dataclass(frozen=True)
class PartialCopying:
    """Distance quantiles of both kinds of images, and the number of generated images below the limit."""

    quantiles: tuple[DistanceQuantile, ...]
    limit: float
    """The distance that only ``rank`` - 1 held-out images fall below."""
    rank: int
    below: int
    """How many generated images are closer than ``limit``."""
    generated: int
    held_out: int

    @property
    def share(self) -> float:
        """The share of the generated images that is closer than ``limit``."""
        return self.below / self.generated

    @property
    def expected(self) -> float:
        """The share to be expected if nothing is copied."""
        return self.rank / (self.held_out + 1)

    @property
    def standard_error(self) -> float:
        """Standard error of ``share`` over the choice of generated images, the limit being given."""
        return float(np.sqrt(self.share * (1.0 - self.share) / self.generated))

    @property
    def p_value(self) -> float:
        """The probability of so many or more below the limit if nothing is copied."""
        return float(scipy.stats.betabinom.sf(self.below - 1, self.generated, self.rank, self.held_out - self.rank + 1))

    @property
    def is_informative(self) -> bool:
        """False where held-out images are at distance 0 themselves: nothing can be below, and nothing is shown."""
        return self.limit > 0.0


def partial_copying(generated: Vector, held_out: Vector, *, rare: float = HELD_OUT_SHARE) -> PartialCopying:
    """Compare the distances to the nearest training image of generated (m,) and held-out images (n,).

    Any distance will do, the same for both. Raises :class:`Invalid`: ``too-few-images``, ``bad-distances``.
    """
    of_generated, of_held_out = distances_of(generated), distances_of(held_out)
    if not len(of_generated) or not len(of_held_out):
        raise Invalid("too-few-images", "Without images there are no distances to compare.")
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
    """The standard error of a quantile of ascending values (n,): the spread of the sample's quantile if its values are
    drawn again, without drawing (Maritz and Jarrett 1978).

    The quantile of a drawn sample is at most the i-th value with the probability of a beta distribution at i / n.
    """
    count = len(ordered)
    below = scipy.special.betainc((count + 1) * level, (count + 1) * (1.0 - level), np.arange(count + 1) / count)
    weights = np.diff(below)
    return float(np.sqrt(weights @ np.square(ordered - weights @ ordered)))
