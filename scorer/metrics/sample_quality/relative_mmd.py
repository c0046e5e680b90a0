"""The relative MMD test: are generated images closer to the training images than held-out images are?

    t = MMD^2(training, held-out) - MMD^2(training, generated),   p = Phi(-t / sqrt(Var t))
    k(x, y) = exp(-|x - y|^2 / (2 sigma^2))                              (Bounliphone et al. 2016, section 3)

Both discrepancies are unbiased, and the mean of k over pairs of training images, which they share, cancels. Var t is
that of the linear part, as in :func:`scorer.metrics.sample_quality.kid.squared_mmd`. The authors' code estimates it
from products of sums, which are too low by about 2 / n of a squared mean. For sets far apart that variance fell below
0, and the test found nothing. sigma is the mean of two median widths. With m the median non-zero squared distance
between at most 1,000 training rows and as many rows of the other set, a width is sqrt(m / 2).

A p-value near 0 means that the generated images are closer, near 1 that they are farther. The test detects underfitting
and hardly any copying (Meehan et al. 2020, section 7.5): a copy of the whole training set is about as far from it as an
independent sample, and both discrepancies are about 0.
"""

from dataclasses import dataclass

import numpy as np
import scipy

from scorer.metrics.features import Features, Vector
from scorer.metrics.sample_quality.kernel_sums import (
    Kernel,
    gaussian_kernel,
    median_width,
    sums_across,
    sums_within,
)
from scorer.metrics.statistics.subsampling import equal_subsamples
from scorer.progress import ProgressCallback

MAX_IMAGES = 4000  # images of each kind: the cost grows with the square


@dataclass(frozen=True)
class RelativeMmd:
    """The test's result; ``count`` images of each kind took part."""

    held_out: float
    """Unbiased MMD^2 between training and held-out images; may be below 0."""
    generated: float
    """Unbiased MMD^2 between training and generated images."""
    standard_error: float
    """The standard error of the difference ``held_out - generated`` over the choice of all three kinds of images, for
    the test; 0 if all kernel values are equal."""
    sampling_error: float
    """The standard error of the difference over the choice of generated images and the draw from the other images."""
    sigma: float
    count: int

    @property
    def z(self) -> float:
        """The difference in standard errors; above 0 the generated images are closer."""
        return (self.held_out - self.generated) / self.standard_error if self.standard_error else 0.0

    @property
    def p_closer(self) -> float:
        """One-sided p-value for generated images being closer to the training images than held-out images."""
        return float(scipy.stats.norm.sf(self.z))

    @property
    def p_farther(self) -> float:
        """One-sided p-value for generated images being farther from the training images than held-out images."""
        return float(scipy.stats.norm.cdf(self.z))


def relative_mmd(
    generated: Features,
    training: Features,
    held_out: Features,
    *,
    random: np.random.Generator,
    max_images: int = MAX_IMAGES,
    authors: bool = False,
    progress: ProgressCallback | None = None,
) -> RelativeMmd:
    """Compare features of the three kinds, float32 or float64. Draws the same number of each, at most ``max_images``.

    Sets of equal size take part whole. ``authors`` uses the variance of the authors' code. Never holds n x n numbers.
    ``progress`` is called with the finished share, rising to 1.0. Raises the errors of :func:`equal_subsamples`,
    ``too-few-images`` for fewer than three images.
    """
    own, real, held_out_sample = equal_subsamples(
        {"generated": generated, "reference": training, "held-out": held_out}, random, max_images, 3
    )
    sigma = (median_width(real, held_out_sample) + median_width(real, own)) / 2.0
    kernel = gaussian_kernel(sigma)
    report = progress or (lambda _share: None)
    within_real = sums_within(real, kernel, lambda share: report(share / 7))
    against_held_out = _sums(held_out_sample, real, kernel, report=lambda share: report((1 + 3 * share) / 7))
    against_generated = _sums(own, real, kernel, report=lambda share: report((4 + 3 * share) / 7))
    n = len(own)
    base = float(within_real.sum()) / (n * (n - 1))
    discrepancies = (base + sums.inside - 2.0 * sums.between for sums in (against_held_out, against_generated))
    variances = _variances(against_held_out, against_generated)
    error = np.sqrt(_authors_variance(against_held_out, against_generated) if authors else variances.sum())
    # Of the reference images, only those that were not drawn add variance.
    unknown = np.array([1.0 - n / len(training), 1.0 - n / len(held_out), 1.0])
    held_out_value, generated_value = discrepancies
    return RelativeMmd(held_out_value, generated_value, float(error), float(np.sqrt(unknown @ variances)), sigma, n)


@dataclass(frozen=True, eq=False)
class _Sums:
    """Row sums of kernel values, (n,): within a set, of the set with the training images, and of these with the set."""

    within: Vector
    by_own: Vector
    by_real: Vector

    @property
    def inside(self) -> float:
        """The mean over pairs of different rows of the set."""
        return float(self.within.sum()) / (len(self.within) * (len(self.within) - 1))

    @property
    def between(self) -> float:
        """The mean over pairs of a row of the set and a training row."""
        return float(self.by_real.sum()) / len(self.by_real) ** 2

    def zeta(self) -> float:
        """The set's own terms of zeta_1."""
        cube = float(len(self.within)) ** 3
        alone = self.within @ self.within / cube - self.inside**2
        across = (self.by_real @ self.by_real + self.by_own @ self.by_own) / cube - 2.0 * self.between**2
        return float(alone + across - 2.0 * (self.within @ self.by_own / cube - self.inside * self.between))


def _variances(held_out: _Sums, generated: _Sums) -> Vector:
    """The variances of the linear parts of training, held-out and generated images, (3,)."""
    n = len(generated.within)
    linear = [(generated.by_real - held_out.by_real) / n]
    linear += [sums.within / (n - 1) - sums.by_own / n for sums in (held_out, generated)]
    return np.array([4.0 * part.var(ddof=1) / n for part in linear])


def _authors_variance(held_out: _Sums, generated: _Sums) -> float:
    """(4 (n - 2) / (n (n - 1))) zeta_1, or 0 if that is negative."""
    n = len(generated.within)
    shared = held_out.by_real @ generated.by_real / n**3 - held_out.between * generated.between
    zeta = held_out.zeta() + generated.zeta() - 2.0 * float(shared)
    return max(0.0, 4.0 * (n - 2) / (n * (n - 1)) * zeta)


def _sums(own: Features, real: Features, kernel: Kernel, *, report: ProgressCallback) -> _Sums:
    within = sums_within(own, kernel, lambda share: report(share / 3))
    by_own, by_real = sums_across(own, real, kernel, lambda share: report((1 + 2 * share) / 3))
    return _Sums(within, by_own, by_real)
