"""The latent recovery test: does a generator reproduce its training images better than held-out images?

For every target y the recovery error is min over z of mean((G(z) - y)^2), over pixels in [-1, 1] (four times the number
for pixels in [0, 1]). For the errors of a set Y (Webster et al. 2019, equations 5 and 6):

    MRE(Y)   = median of the errors
    MRE-gap  = (MRE(held-out) - MRE(train)) / MRE(held-out)
    KS       = max over e of |F_train(e) - F_held-out(e)|

The median of an even number is the mean of the middle two. The gap is signed; the authors' code takes the absolute
value. KS is two-sided, and its p-value is exact if scipy can count it.

A generator counts as overfitted if KS has p < 1 % *and* the gap is above +10 %. If the search does not find images that
the generator itself made, the search failed and the test is inconclusive.

If an entry shows which images may be memorised, those near it are tested in addition to those drawn at random
(:mod:`scorer.metrics.copying.near_targets`), and each test gets half of the level (Bonferroni).

Torch's median, which the authors use, is the lower of the middle two. With 200 targets it hardly differs.
"""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy

from scorer.errors import Invalid
from scorer.metrics.copying.partial_copying import quantile_error
from scorer.metrics.features import Vector
from scorer.metrics.statistics.class_separation import distances_of

VERBATIM = 0.025
"""An image with this error or less looks the same (the paper's appendix A.2)."""
PLAUSIBLE = 0.1
SIGNIFICANCE_LEVEL = 0.01
MIN_GAP = 0.1
MIN_SHARE_FOUND = 0.9
"""The test is inconclusive if a smaller share of the generated targets is found."""

Verdict = Literal["copies", "no-sign", "inconclusive"]
TargetKind = Literal["train", "held_out", "near_train", "near_held_out", "generated", "entry"]
TARGET_KINDS: tuple[TargetKind, ...] = ("train", "held_out", "near_train", "near_held_out", "generated", "entry")
"""In the order of reports: images that the generator may have learnt, images it has not seen, both kinds near the entry
if one is compared, the generator's own images, and the entry's."""


@dataclass(frozen=True)
class ErrorSummary:
    """The errors of one kind of target."""

    count: int
    median: float
    """The MRE."""
    median_error: float
    """The standard error of ``median`` over the choice of targets (Maritz and Jarrett 1978)."""
    verbatim: float
    """The share in [0, 1] recovered verbatim: error below 0.025."""
    plausible: float
    """The share recovered plausibly: error below 0.1."""

    @property
    def verbatim_error(self) -> float:
        """The standard error of ``verbatim`` over the choice of targets."""
        return float(np.sqrt(self.verbatim * (1.0 - self.verbatim) / self.count))


@dataclass(frozen=True)
class KolmogorovSmirnov:
    """The two-sample Kolmogorov-Smirnov test of training errors against held-out errors."""

    statistic: float
    """D in [0, 1]."""
    p_value: float
    """Two-sided."""
    excess: float
    """How far the distribution function of the training errors is above the other: max F_train - F_held-out, >= 0."""
    p_smaller: float
    """One-sided, for smaller training errors."""

    @property
    def training_is_smaller(self) -> bool:
        """Whether D is attained at an error with more training errors than held-out errors below it."""
        return self.excess >= self.statistic


@dataclass(frozen=True)
class RecoveryTest:
    train: ErrorSummary
    held_out: ErrorSummary
    generated: ErrorSummary | None
    """None if an uploaded encoder replaces the search."""
    gap: float | None
    """Signed; None if the held-out median is 0."""
    gap_low: float | None
    """A 95 % interval of the gap from order statistics; None for too few targets."""
    gap_high: float | None
    test: KolmogorovSmirnov

    @property
    def conclusive(self) -> bool:
        """Whether the search recovers enough of the generator's own images."""
        return self.generated is None or self.generated.verbatim >= MIN_SHARE_FOUND

    @property
    def verdict(self) -> Verdict:
        if not self.conclusive:
            return "inconclusive"
        return "copies" if is_overfitted(self.test.p_value, self.gap) else "no-sign"


@dataclass(frozen=True)
class RecoveryComparisons:
    """The tests of one generator: on images drawn at random and, if an entry is compared, on those near the entry."""

    random: RecoveryTest
    near: RecoveryTest | None = None

    @property
    def count(self) -> int:
        return 1 if self.near is None else 2

    @property
    def deciding(self) -> RecoveryTest:
        """The test with the smaller p-value, among those with a gap that counts if there are any."""
        tests = [self.random] if self.near is None else [self.random, self.near]
        return min(tests, key=lambda test: (test.gap is None or test.gap <= MIN_GAP, test.test.p_value))

    @property
    def p_value(self) -> float:
        """The p-value of the deciding test, times the number of tests (Bonferroni)."""
        return min(1.0, self.count * self.deciding.test.p_value)

    @property
    def verdict(self) -> Verdict:
        """``copies`` if one of the tests shows copying at its part of the level; see :class:`RecoveryTest`."""
        if not self.random.conclusive:
            return "inconclusive"
        return "copies" if is_overfitted(self.p_value, self.deciding.gap) else "no-sign"


def is_overfitted(p_value: float, gap: float | None) -> bool:
    """Webster's rule with a sign: p < 1 % and gap > +10 %."""
    return gap is not None and p_value < SIGNIFICANCE_LEVEL and gap > MIN_GAP


def recovery_test(train: Vector, held_out: Vector, generated: Vector | None) -> RecoveryTest:
    """Judge the errors (n,), (m,), (k,), >= 0, of training, held-out and generated targets.

    Raises :class:`Invalid`: ``too-few-images`` for an empty set, ``bad-distances``.
    """
    of_training, of_held_out = _require_errors(train), _require_errors(held_out)
    low, high = gap_interval(of_training, of_held_out)
    return RecoveryTest(
        train=summary_of(of_training),
        held_out=summary_of(of_held_out),
        generated=None if generated is None else summary_of(generated),
        gap=signed_gap(float(np.median(of_training)), float(np.median(of_held_out))),
        gap_low=low,
        gap_high=high,
        test=kolmogorov_smirnov(of_training, of_held_out),
    )


def summary_of(errors: Vector) -> ErrorSummary:
    """Median and recovered shares of the errors (n,) of one kind of target; raises the errors of
    :func:`recovery_test`."""
    values = _require_errors(errors)
    verbatim, plausible = (float((values < limit).mean()) for limit in (VERBATIM, PLAUSIBLE))
    error = quantile_error(np.sort(values), 0.5)
    return ErrorSummary(len(values), float(np.median(values)), error, verbatim, plausible)


def signed_gap(train: float, held_out: float) -> float | None:
    """(held_out - train) / held_out; None if ``held_out`` is 0."""
    return (held_out - train) / held_out if held_out > 0.0 else None


def gap_interval(train: Vector, held_out: Vector, level: float = 0.05) -> tuple[float | None, float | None]:
    """An interval that contains the gap of the medians with probability at least 1 - ``level``, for any distributions.

    A median is between two order statistics with a binomial probability; both medians get half of ``level``.
    """
    train_interval, held_out_interval = _median_interval(train, level / 2), _median_interval(held_out, level / 2)
    if train_interval is None or held_out_interval is None:
        return None, None
    return signed_gap(train_interval[1], held_out_interval[0]), signed_gap(train_interval[0], held_out_interval[1])


def _median_interval(values: Vector, level: float) -> tuple[float, float] | None:
    """The order statistics r and n + 1 - r with the largest r for which 2 Pr(B(n, 1/2) < r) <= ``level``."""
    count = len(values)
    rank = int(scipy.stats.binom.ppf(level / 2, count, 0.5))  # the smallest count reached with that probability
    if rank < 1:
        return None
    ordered = np.sort(values)
    return float(ordered[rank - 1]), float(ordered[count - rank])


def kolmogorov_smirnov(train: Vector, held_out: Vector) -> KolmogorovSmirnov:
    """Compare the errors of training (n,) and held-out targets (m,); raises the errors of :func:`recovery_test`."""
    of_training, of_held_out = _require_errors(train), _require_errors(held_out)
    with warnings.catch_warnings():  # scipy warns when there are too many paths to count and it uses the limit
        warnings.simplefilter("ignore", RuntimeWarning)
        both = scipy.stats.ks_2samp(of_training, of_held_out)
        smaller = scipy.stats.ks_2samp(of_training, of_held_out, alternative="greater")
    return KolmogorovSmirnov(
        statistic=float(both.statistic),
        p_value=float(both.pvalue),
        excess=float(smaller.statistic),
        p_smaller=float(smaller.pvalue),
    )


def needed_statistic(n: int, m: int, level: float = SIGNIFICANCE_LEVEL) -> float | None:
    """The D for samples of n and m from which p < ``level``, from the limit distribution; None above 1."""
    needed = float(scipy.special.kolmogi(level)) * float(np.sqrt((n + m) / (n * m)))
    return needed if needed <= 1.0 else None


def _require_errors(values: Vector) -> Vector:
    errors = distances_of(values)
    if not len(errors):
        raise Invalid("too-few-images", "There are no targets; recovery errors need at least one.")
    return errors


MIN_ERROR = 1e-4
"""Smaller errors count as this error: the difference between such images is invisible."""
BINS_PER_DECADE = 6


@dataclass(frozen=True)
class ErrorHistogram:
    """The number of targets of each kind in each bin. The edges, (bins + 1,), ascend on a logarithmic axis. The first
    bin also counts all smaller errors."""

    edges: Sequence[float]
    counts: Mapping[str, Sequence[int]]


def error_histogram(errors: Mapping[str, Sequence[float]]) -> ErrorHistogram:
    """The histogram of errors >= 0 of each kind of target; each kind needs at least one."""
    largest = max(VERBATIM, *(max(values) for values in errors.values()))
    decades = np.log10(largest / MIN_ERROR)
    bins = int(np.floor(decades * BINS_PER_DECADE)) + 1  # the largest error is below the last edge
    edges = MIN_ERROR * 10.0 ** (np.arange(bins + 1) / BINS_PER_DECADE)
    counts = {
        kind: np.histogram(np.clip(values, MIN_ERROR, None), edges)[0].tolist() for kind, values in errors.items()
    }
    return ErrorHistogram(edges.tolist(), counts)
