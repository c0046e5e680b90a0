"""The three-sample kernel test: are generated images closer to the training images than fresh photographs are?

    t = MMD^2(training, held-out) - MMD^2(training, generated),   p = Phi(-t / sqrt(Var t))
    k(x, y) = exp(-|x - y|^2 / (2 sigma^2))                              (Bounliphone et al. 2016, section 3)

Both discrepancies are unbiased, and the mean of k over pairs of training images, which they share, cancels. Var t is
the linear part of the variance of a U-statistic, (4 (n - 2) / (n (n - 1))) zeta_1, with zeta_1 summed from row sums of
the three kernel matrices. sigma is the mean of two median widths: with m the median of the squared distances other than
0 between at most 1,000 training rows and as many of the other set, a width is sqrt(m / 2).

A p-value near 0 says that the generated images are the closer ones, near 1 that they are the farther ones. Meehan et al.
2020, section 7.5, found that it sees underfitting and hardly any copying, since a copy of the whole training set is as
far from it as a fresh sample: both discrepancies are about 0.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.stats import norm

from scorer.metrics.drawing import equally_many
from scorer.metrics.features import Features, Vector
from scorer.metrics.kernel_sums import Kernel, sums_across, sums_within

MOST = 4000  # images of each kind: the cost grows with the square
_WIDTH_ROWS = 1000


@dataclass(frozen=True)
class RelativeDiscrepancy:
    """The test's result; ``count`` images of each kind took part."""

    held_out: float
    """Unbiased MMD^2 between training and held-out images; may be below 0."""
    generated: float
    """The same between training and generated images."""
    standard_error: float
    """Of the difference ``held_out - generated``; 0 where all kernel values are equal."""
    sigma: float
    count: int

    @property
    def z(self) -> float:
        """The difference in standard errors; above 0 the generated images are the closer ones."""
        return (self.held_out - self.generated) / self.standard_error if self.standard_error else 0.0

    @property
    def p_closer(self) -> float:
        """One-sided p-value for generated images being closer to the training images than fresh photographs."""
        return float(norm.sf(self.z))

    @property
    def p_farther(self) -> float:
        """One-sided p-value for their being farther."""
        return float(norm.cdf(self.z))


def relative_mmd(
    generated: Features,
    training: Features,
    held_out: Features,
    *,
    random: np.random.Generator,
    most: int = MOST,
    progress: Callable[[float], None] | None = None,
) -> RelativeDiscrepancy:
    """Compare features, float32 or float64, of the three kinds; as many of each, at most ``most``, are drawn.

    Sets that are equally large take part whole. Never holds n x n numbers. ``progress`` hears the finished share,
    rising to 1.0. Raises :class:`Invalid` as :func:`equally_many` does, ``too-few-images`` for fewer than three images.
    """
    own, real, fresh = equally_many({"generated": generated, "reference": training, "held-out": held_out}, random, most, 3)
    sigma = (_width(real, fresh) + _width(real, own)) / 2.0
    kernel = _gaussian(sigma)
    report = progress or (lambda _share: None)
    within_fresh, within_own, within_real = (
        sums_within(each, kernel, lambda share, part=part: report((part + share) / 7))
        for part, each in enumerate((fresh, own, real))
    )
    real_fresh, fresh_real = sums_across(real, fresh, kernel, lambda share: report((3 + 2 * share) / 7))
    real_own, own_real = sums_across(real, own, kernel, lambda share: report((5 + 2 * share) / 7))
    n = len(own)
    pairs = n * (n - 1)
    base = within_real.sum() / pairs
    values = tuple(
        float(base + within.sum() / pairs - 2.0 * across.sum() / n**2)
        for within, across in ((within_fresh, fresh_real), (within_own, own_real))
    )
    zeta = _spread(within_fresh, real_fresh, fresh_real) + _spread(within_own, real_own, own_real)
    zeta -= 2.0 * (real_fresh @ real_own / n**3 - real_own.sum() / n**2 * (real_fresh.sum() / n**2))
    variance = max(0.0, float(4.0 * (n - 2) / pairs * zeta))
    return RelativeDiscrepancy(*values, float(np.sqrt(variance)), sigma, n)


def _spread(within: Vector, by_real: Vector, by_other: Vector) -> float:
    """What one of the two sets adds to zeta_1 on its own, from the row sums of its kernel matrices."""
    n = len(within)
    inside, across = within.sum() / (n * (n - 1)), by_real.sum() / n**2
    own = within @ within / n**3 - inside**2
    both = by_real @ by_real / n**3 + by_other @ by_other / n**3 - 2.0 * across**2
    return float(own + both - 2.0 * (within @ by_other / n**3 - inside * across))


def _gaussian(sigma: float) -> Kernel:
    def kernel(left: Vector, right: Vector) -> Vector:
        values = _squares(left, right)
        values *= -0.5 / sigma**2
        return np.asarray(np.exp(values, out=values))

    return kernel


def _squares(left: Vector, right: Vector) -> Vector:
    """Squared distances; where rows nearly coincide, rounding leaves some 1e-15 of their lengths, which k forgives."""
    values: Vector = left @ right.T
    values *= -2.0
    values += np.square(left).sum(axis=1)[:, None]
    values += np.square(right).sum(axis=1)
    return np.asarray(np.maximum(values, 0.0, out=values))


def _width(one: Features, other: Features) -> float:
    """The root of half the median squared distance other than 0; 1 where there is none."""
    squares = _squares(*(each[:_WIDTH_ROWS].astype(np.float64) for each in (one, other)))
    apart = squares[squares > 0.0]
    return float(np.sqrt(np.median(apart) / 2.0)) if len(apart) else 1.0
