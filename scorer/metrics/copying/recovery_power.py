"""The power of the latent recovery test: the share of memorised training images from which it finds them.

A share r of the training images is memorised: their errors are below every held-out error. The other training images
are as hard as held-out images, so their errors are drawn from the held-out errors. A seeded simulation counts how often
the test (:func:`is_overfitted`) finds the generator. The detectable share is the smallest r, in hundredths, with a
large enough probability. KS counts from the statistic of the limit distribution.

How far the search itself can be trusted:

success    the share of targets with an error below 0.025 (verbatim) and 0.1 (plausible) after each start
           (Webster et al. 2019, table 2)
stability  the same targets searched for from the same starts, every target from every start: the quartiles of all
           errors after each iteration (appendix C)
"""

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from scorer.metrics.copying.latent_recovery import MIN_GAP, PLAUSIBLE, SIGNIFICANCE_LEVEL, VERBATIM, needed_statistic
from scorer.metrics.features import Vector

SIMULATIONS = 400
"""Draws of all targets, which estimate a probability of 80 % to within 2 percentage points (one standard error)."""


@dataclass(frozen=True)
class DetectableShares:
    """The smallest shares in (0, 1] that a test finds with 80 % and with 95 % probability; null if the test does not
    even find a share of 1."""

    with_80: float | None
    with_95: float | None


def detectable_memorisation(train: int, held_out: Vector, *, tests: int = 1, seed: int = 0) -> DetectableShares:
    """The detectable shares of memorised targets among ``train`` training targets, tested against the errors
    ``held_out`` (m,) at the significance level divided by ``tests``."""
    random = np.random.default_rng([seed, train, len(held_out)])
    needed = needed_statistic(train, len(held_out), SIGNIFICANCE_LEVEL / tests)
    others, held_out_places, lot = (random.random((SIMULATIONS, count)) for count in (train, len(held_out), train))
    held_out_medians = _medians(held_out_places, held_out)

    @cache
    def probability(percent: int) -> float:
        if needed is None:
            return 0.0
        places = np.where(lot < percent / 100, -1.0, others)
        gap_counts = _medians(places, held_out) < (1.0 - MIN_GAP) * held_out_medians
        return float((gap_counts & (_statistics(places, held_out_places) >= needed)).mean())

    def smallest(wanted: float) -> float | None:
        low, high = 0, 100
        if probability(high) < wanted:
            return None
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if probability(middle) >= wanted else (middle, high)
        return high / 100

    return DetectableShares(smallest(0.8), smallest(0.95))


def of_all_training_images(share: float | None, held_out_share: float) -> float | None:
    """Convert ``share`` of the training images near an entry into a share of all training images. Assumes that the
    entry is near every memorised image and, as for held-out images, near ``held_out_share`` of the others."""
    if share is None:
        return None
    return held_out_share * share / (1.0 - share + held_out_share * share)


def _medians(places: Vector, errors: Vector) -> Vector:
    """The medians (s,) of rows of errors (s, n), given as ``places`` in [0, 1] in the distribution of ``errors``. A
    place below 0 is an error of 0."""
    count = places.shape[1]
    middle = np.partition(places, ((count - 1) // 2, count // 2), axis=1)[:, [(count - 1) // 2, count // 2]]
    return np.asarray(np.where(middle < 0.0, 0.0, np.quantile(errors, np.maximum(middle, 0.0))).mean(axis=1))


def _statistics(places: Vector, held_out: Vector) -> Vector:
    """The two-sided KS statistics of pairs of rows, (s,)."""
    count, other = places.shape[1], held_out.shape[1]
    order = np.argsort(np.concatenate([places, held_out], axis=1), axis=1, kind="stable")
    return np.asarray(np.abs(np.where(order < count, 1.0 / count, -1.0 / other).cumsum(axis=1)).max(axis=1))


def success_by_start(errors: Vector) -> dict[str, list[float]]:
    """The shares of targets found after 1, 2 ... starts, from the best errors so far (starts, n)."""
    return {
        name: [float(share) for share in (errors < limit).mean(axis=1)]
        for name, limit in (("verbatim", VERBATIM), ("plausible", PLAUSIBLE))
    }


@dataclass(frozen=True, eq=False)
class SearchStability:
    """The errors of every target, searched for from every start, after each iteration."""

    errors: Vector
    """(starts, iterations + 1, targets)"""

    @property
    def quartiles(self) -> Vector:
        """The 25th, 50th and 75th percentiles over starts and targets by iteration, (3, iterations + 1)."""
        return np.asarray(np.percentile(self.errors, (25, 50, 75), axis=(0, 2)))

    @property
    def found(self) -> Vector:
        """For each target, the share of starts from which it is found verbatim, (targets,)."""
        return np.asarray((self.errors[:, -1] < VERBATIM).mean(axis=0))

    @property
    def iterations_needed(self) -> int | None:
        """The first iteration after which half of the searches have found their target; None if they never do."""
        reached = np.flatnonzero(self.quartiles[1] < VERBATIM)
        return int(reached[0]) if len(reached) else None

    def as_json(self) -> dict[str, Any]:
        """Numbers of starts and targets, quartiles by iteration, and the share of starts that find each target."""
        low, median, high = self.quartiles.tolist()
        starts, _, targets = self.errors.shape
        return {
            "starts": starts,
            "targets": targets,
            "low": low,
            "median": median,
            "high": high,
            "found": np.sort(self.found).tolist(),
        }
