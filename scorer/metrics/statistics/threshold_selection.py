"""Choosing tau, the memorization distance below which an entry is penalised.

The paper names a memorization margin d(M) and a tau* "that best separates memorized versus non-memorized submissions"
(Bai et al. 2021, section 2.2). Taken literally, tau* is the mean of all distances, which separates nothing in
particular (``paper``). Its organizers did what ``margin`` does: penalise as many known memorising entries as possible,
but no legitimate one.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kennel_client.names import ThresholdMethod
from scorer.errors import Invalid
from scorer.metrics.features import Vector
from scorer.metrics.statistics.class_separation import (
    Confusion,
    Labels,
    area_under_curve,
    classes_of,
    cohens_d,
    confusion_of,
    distances_of,
    memorization_margin,
    relative_variance,
)

__all__ = [
    "METHODS",
    "Interval",
    "LabelledDistances",
    "ThresholdChoice",
    "choose_tau",
    "is_borderline",
    "memorization_margin",
]


@dataclass(frozen=True)
class Interval:
    """low < tau <= high: every tau in this interval judges every entry the same.

    ``low`` is 0 if no entry is below tau; ``high`` is None if no entry is at or above it.
    """

    low: float
    high: float | None


@dataclass(frozen=True)
class ThresholdChoice:
    """A threshold and how it judges the entries. A quantity that does not exist is None.

    ``memorization_margin`` (d(M)) and ``relative_variance`` are computed from all distances; ``auc``, ``cohens_d`` and
    ``confusion`` from the labelled distances.
    """

    tau: float
    method: str
    interval: Interval
    memorization_margin: float | None
    relative_variance: float | None
    auc: float | None
    cohens_d: float | None
    confusion: Confusion | None


class LabelledDistances:
    """Memorization distances (n,) with their labels. Chooses thresholds by one or more methods, which share one sort.

    ``memorised`` (n,) is True, False, or None (nan) for an undecided entry. ``held_out_distance`` is the distance of
    real images that were never published.
    """

    def __init__(
        self, distances: ArrayLike, memorised: Labels | None = None, held_out_distance: float | None = None
    ) -> None:
        values = distances_of(distances)
        memorising, legitimate = classes_of([None] * len(values) if memorised is None else memorised, len(values))
        self.distances: Vector = values
        self.held_out_distance = held_out_distance
        self.memorising: Vector = values[memorising]
        self.legitimate: Vector = values[legitimate]

    @cached_property
    def ordered(self) -> Vector:
        return np.sort(self.distances)

    @cached_property
    def edges(self) -> Vector:
        """The distinct distances, lowest first, at which a threshold changes how it judges."""
        is_first = np.ones(len(self.ordered), np.bool_)
        is_first[1:] = self.ordered[1:] != self.ordered[:-1]
        return self.ordered[is_first]

    @cached_property
    def below_gaps(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """How many memorising and legitimate entries are below a threshold in each gap between ``edges``. The first gap
        ends at the lowest distance and has no entry below it; the last begins at the highest."""
        return self._below_gaps(self.memorising), self._below_gaps(self.legitimate)

    def _below_gaps(self, labelled: Vector) -> NDArray[np.intp]:
        counts = np.bincount(np.searchsorted(self.edges, labelled), minlength=len(self.edges))
        return np.append(0, np.cumsum(counts))

    @cached_property
    def _separation(self) -> dict[str, float | None]:
        """The quantities that are the same for every threshold."""
        return {
            "memorization_margin": memorization_margin(self.distances) if len(self.distances) else None,
            "relative_variance": relative_variance(self.distances),
            "auc": area_under_curve(self.memorising, self.legitimate),
            "cohens_d": cohens_d(self.memorising, self.legitimate),
        }

    def choose(self, method: str = "margin", alpha: float = 0.0, *, tau: float | None = None) -> ThresholdChoice:
        """Choose a threshold by one of :data:`METHODS`.

        - ``margin``: penalise the most memorising entries and at most a share ``alpha`` of the legitimate ones;
        - ``accuracy``: the fewest labelled entries on the wrong side;
        - ``held_out``: half of the held-out distance;
        - ``otsu``: the split with the least variance inside the two parts, without labels (Otsu 1979);
        - ``paper``: the mean, which is the literal argmin of the sum of (s - tau)^2;
        - ``manual``: the given ``tau``.

        If many thresholds are equally good, takes the middle of the widest gap between entries. A method that lacks an
        input raises :class:`Invalid` (``no-labels``, ``one-class-only``, ``no-held-out-distance``, ``no-distances``,
        ``no-split``, ``no-tau``); no other method replaces it.
        """
        if method not in _CHOOSERS:
            raise Invalid("unknown-method", f"There is no method {method!r}. Choose one of: {', '.join(METHODS)}.")
        if not 0.0 <= alpha < 1.0:
            raise Invalid("bad-alpha", f"alpha is {alpha}; it must be at least 0 and below 1.")
        threshold = _CHOOSERS[method](self, alpha, tau)
        labelled = len(self.memorising) > 0 or len(self.legitimate) > 0
        return ThresholdChoice(
            tau=threshold,
            method=method,
            interval=self._interval_around(threshold),
            confusion=confusion_of(self.memorising, self.legitimate, threshold) if labelled else None,
            **self._separation,
        )

    def _interval_around(self, tau: float) -> Interval:
        below = self.distances < tau  # faster than sorting a million distances
        high = float(self.distances[~below].min(initial=np.inf))
        return Interval(float(self.distances[below].max(initial=0.0)), high if np.isfinite(high) else None)


def choose_tau(
    distances: ArrayLike,
    memorised: Labels | None = None,
    method: str = "margin",
    alpha: float = 0.0,
    held_out_distance: float | None = None,
    *,
    tau: float | None = None,
) -> ThresholdChoice:
    """Choose one threshold for memorization distances (n,); see :meth:`LabelledDistances.choose`."""
    return LabelledDistances(distances, memorised, held_out_distance).choose(method, alpha, tau=tau)


def _by_margin(entries: LabelledDistances, alpha: float, _: float | None) -> float:
    _require_both_classes("margin", entries)
    caught, wronged = entries.below_gaps
    return _find_best_midpoint(entries.edges, np.where(wronged / len(entries.legitimate) <= alpha, caught, -1))


def _by_accuracy(entries: LabelledDistances, _: float, __: float | None) -> float:
    _require_both_classes("accuracy", entries)
    caught, wronged = entries.below_gaps
    return _find_best_midpoint(entries.edges, caught - wronged)


def _by_held_out(entries: LabelledDistances, _: float, __: float | None) -> float:
    if entries.held_out_distance is None:
        raise Invalid("no-held-out-distance", "The reference set has no held-out distance. Choose another method.")
    return _require_threshold(entries.held_out_distance, "The held-out distance") / 2.0


def _by_otsu(entries: LabelledDistances, _: float, __: float | None) -> float:
    """Exact over all splits: prefix sums give the sum of squares within both parts of each split."""
    ordered = entries.ordered
    splits = np.flatnonzero(np.diff(ordered)) + 1  # sizes of the lower part
    if not len(splits):
        raise Invalid("no-split", "Otsu's method needs entries with at least two different distances.")
    total = ordered.sum()
    lower = np.cumsum(ordered)[splits - 1]
    upper_size = len(ordered) - splits
    between = lower**2 / splits + (total - lower) ** 2 / upper_size  # between the parts, up to a constant
    size = int(splits[np.argmax(between)])
    return _middle(float(ordered[size - 1]), float(ordered[size]))


def _by_paper(entries: LabelledDistances, _: float, __: float | None) -> float:
    if not len(entries.distances):
        raise Invalid("no-distances", "There are no entries; the mean distance needs at least one.")
    return float(entries.distances.mean())


def _by_hand(_: LabelledDistances, __: float, tau: float | None) -> float:
    if tau is None:
        raise Invalid("no-tau", "The method 'manual' needs a value for tau.")
    return _require_threshold(tau, "The threshold")


_CHOOSERS: dict[ThresholdMethod, Callable[[LabelledDistances, float, float | None], float]] = {
    "margin": _by_margin,
    "held_out": _by_held_out,
    "otsu": _by_otsu,
    "accuracy": _by_accuracy,
    "paper": _by_paper,
    "manual": _by_hand,
}
"""The threshold of each method for distances, ``alpha`` and a manually given ``tau``."""

METHODS = tuple(_CHOOSERS)
"""The names of the methods, the default first."""


def _find_best_midpoint(edges: Vector, values: NDArray[np.intp]) -> float:
    """The middle of the widest gap between neighbouring distances, among the gaps with the highest of ``values``.
    ``values`` has one number for each gap, (n + 1,).

    The gap below all entries starts at 0. The gap above all entries has no end, so its width counts as 0: penalising
    every entry must be better than every alternative, not equal to it.
    """
    lows, highs = np.append(0.0, edges), np.append(edges, edges[-1])
    best = np.flatnonzero(values == values.max())
    gap = best[np.argmax((highs - lows)[best])]
    if gap == len(edges):
        return float(np.nextafter(edges[-1], np.inf))
    return _middle(float(lows[gap]), float(highs[gap]))


def _middle(low: float, high: float) -> float:
    """The middle of (low, high]; ``high`` if no number is between them."""
    middle = low + (high - low) / 2.0
    return middle if middle > low else high


def is_borderline(distances: Vector, standard_errors: Vector, tau: float) -> NDArray[np.bool_]:
    """Whether each distance (n,) is within two standard errors (n,) of tau; never if its error is nan."""
    return np.asarray(np.abs(distances - tau) <= 2.0 * standard_errors)


def _require_both_classes(method: str, entries: LabelledDistances) -> None:
    if not len(entries.memorising) and not len(entries.legitimate):
        raise Invalid("no-labels", f"The method {method!r} needs labelled entries. Label some entries first.")
    if not len(entries.memorising) or not len(entries.legitimate):
        only = "memorising" if len(entries.memorising) else "legitimate"
        raise Invalid(
            "one-class-only",
            f"The method {method!r} needs labelled entries of both kinds, but all labelled entries are {only}.",
        )


def _require_threshold(value: float, name: str) -> float:
    if not (np.isfinite(value) and value >= 0.0):
        raise Invalid("bad-tau", f"{name} must be a number of at least 0, not {value}.")
    return float(value)
