"""How certain ranks are: standard errors of scores, intervals of ranks, probabilities of ranks. Pure.

A team's *true* score is the average score of its generator over zips, or over new draws, of the same number of images,
for the same reference; its true rank follows from true scores. A zip whose images were picked is no random sample, so
its intervals may miss the true score. Errors of measured scores are independent, except for images that two
entries share: these make the same error in both (:class:`SharedImages`). The errors of FID and memorization distance of
one entry are assumed to be independent. Both are large for images far from the training images. A penalised score is
the quotient of the two, so for it this assumption is on the safe side.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product, starmap
from typing import NamedTuple

import numpy as np
import scipy

from scorer.metrics.mifid import is_penalised, penalty
from scorer.ranking.columns import Flags, Floats, Ints

CRITICAL_VALUE = 1.959963984540054
"""The standard errors on each side of a 95 % interval."""
DRAWS = 2_000
"""The boards drawn for probabilities: each probability has a standard error of at most 0.011."""
SEED = 20_190_628
"""The seed of the draws: equal boards have equal probabilities."""
_DRAWS_AT_ONCE = 250
_DECIMALS = 9
_MIN_SPREAD = 1e-3
"""The smallest assumed variance of true scores, in mean squared standard errors: without it, drawn scores tie."""


def spread_error(spread: float, draws: int) -> float:
    """The standard error of a mean over two or more draws with this standard deviation. ``CRITICAL_VALUE`` of it is the
    half width of the 95 % interval by Student's t, so with few draws it is larger than ``spread / sqrt(draws)``."""
    quantile = float(scipy.special.stdtrit(draws - 1, 0.975))
    return quantile / CRITICAL_VALUE * spread / math.sqrt(draws)


class SharedImages(NamedTuple):
    """Images that two entries share. ``share``, in [0, 1], is their number over the geometric mean of both entries'
    numbers of images. It is the correlation of the entries' errors."""

    one: int
    """The entry's place among the :class:`MeasuredScores`, from 0; ``other`` likewise."""
    other: int
    share: float


class Separation(NamedTuple):
    """How much better one score is than another."""

    difference: float
    standard_error: float
    """For the measured side of the threshold of each entry."""
    lowest: float
    """The 95 % interval of the difference, up to ``highest``. For a borderline entry it includes both sides of its
    threshold."""
    highest: float

    @property
    def in_standard_errors(self) -> float | None:
        """The difference in standard errors; None if they are 0."""
        return self.difference / self.standard_error if self.standard_error > 0 else None


class ScoreIntervals(NamedTuple):
    """The 95 % interval of each score, from ``lowest`` to ``highest``: arrays (n,)."""

    lowest: Floats
    highest: Floats


class Side(NamedTuple):
    """Scores and their standard errors with all borderline entries penalised, or with none penalised."""

    score: Floats
    standard_error: Floats


@dataclass(frozen=True)
class MeasuredScores:
    """The parts of the scores of a board's ranked entries, best first: arrays (n,). An entry with an unknown error has
    standard errors of 0, so it is compared as if it were exact."""

    fid: Floats
    fid_se: Floats
    distance: Floats
    distance_se: Floats
    tau: Floats
    """The threshold of each entry; 0 for an entry that is never penalised."""
    epsilon: float
    shared: Sequence[SharedImages] = ()

    def __len__(self) -> int:
        return len(self.fid)

    @cached_property
    def score(self) -> Floats:
        """MiFID, not rounded."""
        return _score(self, self.distance, self.penalised)

    @cached_property
    def standard_error(self) -> Floats:
        """The standard error of each score, for the measured side of tau."""
        return _standard_error(self, self.distance, self.penalised)

    @property
    def penalised(self) -> Flags:
        return np.asarray(is_penalised(self.distance, self.tau))

    @property
    def borderline(self) -> Flags:
        """Whether the 95 % interval of each entry's distance contains its threshold."""
        return np.abs(self.distance - self.tau) <= CRITICAL_VALUE * self.distance_se

    @cached_property
    def sides(self) -> tuple[Side, Side]:
        """Each score with no borderline entry penalised, and with all of them penalised. Both are equal for every
        other entry."""
        nearest = np.where(self.borderline, np.minimum(self.distance, self.tau), self.distance)
        spared, penalised = self.penalised & ~self.borderline, self.penalised | self.borderline
        return (
            Side(_score(self, nearest, spared), _standard_error(self, nearest, spared)),
            Side(_score(self, nearest, penalised), _standard_error(self, nearest, penalised)),
        )

    @property
    def intervals(self) -> ScoreIntervals:
        """The 95 % interval of each score. For a borderline entry it reaches from the interval of the score without a
        penalty to that of the score with one."""
        low, high = self.sides
        return ScoreIntervals(
            low.score - CRITICAL_VALUE * low.standard_error, high.score + CRITICAL_VALUE * high.standard_error
        )

    def separation(self, better: int, worse: int) -> Separation:
        """How much better one entry's score is than another's, with the error and the interval of the difference."""
        share = next((s.share for s in self.shared if {s.one, s.other} == {better, worse}), 0.0)

        def apart(one: Side, other: Side) -> tuple[float, float]:
            error, other_error = one.standard_error[better], other.standard_error[worse]
            variance = error**2 + other_error**2 - 2.0 * share * error * other_error
            return float(other.score[worse] - one.score[better]), float(np.sqrt(max(0.0, variance)))

        measured = Side(self.score, self.standard_error)
        margins = [(found, CRITICAL_VALUE * error) for found, error in starmap(apart, product(self.sides, repeat=2))]
        return Separation(
            *apart(measured, measured),
            lowest=min(found - margin for found, margin in margins),
            highest=max(found + margin for found, margin in margins),
        )


def _score(scores: MeasuredScores, distance: Floats, penalised: Flags) -> Floats:
    factor = np.asarray(penalty(distance, np.inf, scores.epsilon))
    return np.where(penalised, scores.fid * factor, scores.fid)


def _standard_error(scores: MeasuredScores, distance: Floats, penalised: Flags) -> Floats:
    """From the delta method: d(f p) = p df - f p^2 ds with p = 1 / (s + epsilon), or p df where p is limited to 1."""
    factor = np.asarray(penalty(distance, np.inf, scores.epsilon))
    slope = np.where(factor > 1.0, factor, 0.0)
    quotient = factor * np.hypot(scores.fid_se, scores.fid * slope * scores.distance_se)
    return np.where(penalised, quotient, scores.fid_se)


class RankIntervals(NamedTuple):
    """The interval of ranks of each entry, from ``first`` to ``last``; both from 1, arrays (n,)."""

    first: Ints
    last: Ints


def rank_intervals(scores: MeasuredScores) -> RankIntervals:
    """The possible ranks of each entry's true score: from 1 + the number of significantly better entries to n - the
    number of significantly worse ones. Entries are compared by the 95 % interval of the difference of both scores.

    A borderline entry counts as better or worse only if it is so on both sides of its threshold. The interval contains
    the measured rank. It contains the true rank in at least 95 % of cases, averaged over the places of a board. If only
    chance orders scores that are very close, it does so less often for the first and the last places alone. Time and
    memory are O(n^2).
    """
    low, high = scores.sides
    variance = np.square(high.standard_error)[:, None] + np.square(low.standard_error)[None, :]
    for one, other, share in scores.shared:
        for row, column in ((one, other), (other, one)):
            variance[row, column] -= 2.0 * share * high.standard_error[row] * low.standard_error[column]
    margin = CRITICAL_VALUE * np.sqrt(np.maximum(variance, 0.0))
    is_better = low.score[None, :] - high.score[:, None] > margin
    return RankIntervals(1 + is_better.sum(axis=0), len(scores) - is_better.sum(axis=1))


def rank_probabilities(
    scores: MeasuredScores, last_ranks: Sequence[int], *, seed: int = SEED, draws: int = DRAWS
) -> Floats:
    """The probability that each entry's true rank is at most each of ``last_ranks``: (n, len(last_ranks)).

    Boards of true scores are drawn, given the measured scores. Distances are also drawn, so an entry near its threshold
    is penalised on only some boards. If scores spread little more than their errors, the best are partly the luckiest.
    So draws are moved towards the mean of all scores as far as that explains their spread (the empirical Bayes
    estimator of Morris 1983).
    """
    count = len(scores)
    inside = np.zeros((count, len(last_ranks)))
    if not count:
        return inside
    shrinkage, mean = _shrinkage(scores)
    random = np.random.default_rng(seed)
    for start in range(0, draws, _DRAWS_AT_ONCE):
        size = (min(_DRAWS_AT_ONCE, draws - start), count)
        fid = np.maximum(scores.fid + scores.fid_se * _draw_errors(random, size, scores.shared), 0.0)
        distance = np.maximum(scores.distance + scores.distance_se * _draw_errors(random, size, scores.shared), 0.0)
        drawn = fid * np.asarray(penalty(distance, scores.tau, scores.epsilon))
        drawn = scores.score + shrinkage * (mean - scores.score) + np.sqrt(1.0 - shrinkage) * (drawn - scores.score)
        # After rounding, entries that share all images tie, and the better measured place counts.
        order = np.argsort(np.round(drawn, _DECIMALS), axis=1, kind="stable")
        for column, last in enumerate(last_ranks):
            inside[:, column] += np.bincount(order[:, :last].ravel(), minlength=count)
    return inside / draws


def _shrinkage(scores: MeasuredScores) -> tuple[Floats, float]:
    """How far each score is moved towards the mean of all scores, as a share of its distance from the mean, and that
    mean."""
    count = len(scores)
    error = np.square(scores.standard_error)
    mean = float(scores.score.mean())
    if count <= 3 or not error.any():
        return np.zeros(count), mean
    spread = max(float(scores.score.var(ddof=1) - error.mean()), _MIN_SPREAD * float(error.mean()))
    return (count - 3) / (count - 1) * error / (error + spread), mean


def _draw_errors(random: np.random.Generator, size: tuple[int, int], shared: Sequence[SharedImages]) -> Floats:
    """Standard normal errors (draws, n), correlated as far as entries share images."""
    errors = random.standard_normal(size)
    if shared:
        entries = sorted({place for pair in shared for place in (pair.one, pair.other)})
        at = {place: index for index, place in enumerate(entries)}
        correlation = np.eye(len(entries))
        for one, other, share in shared:
            correlation[at[one], at[other]] = correlation[at[other], at[one]] = share
        values, vectors = np.linalg.eigh(correlation)
        errors[:, entries] = errors[:, entries] @ (vectors * np.sqrt(np.maximum(values, 0.0))).T
    return errors
