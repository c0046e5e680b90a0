"""Choosing tau, the memorization distance below which an entry is penalised.

The paper names a memorization margin d(M) and a tau* "that best separates memorized versus
non-memorized submissions" (Bai et al. 2021, section 2.2). Taken literally tau* is the mean of all
distances, which separates nothing in particular (``paper``). What its organizers did is what ``margin``
does: catch as many known memorisers as possible without penalising a legitimate entry.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

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

__all__ = ["METHODS", "Interval", "ThresholdChoice", "choose_tau", "is_borderline", "memorization_margin"]


@dataclass(frozen=True)
class Interval:
    """low < tau <= high: wherever tau lies between, every entry is judged the same.

    ``low`` is 0 where no entry is below tau, ``high`` None where none is at or above it.
    """

    low: float
    high: float | None


@dataclass(frozen=True)
class ThresholdChoice:
    """A threshold and how it judges the entries. A quantity that does not exist is None.

    ``memorization_margin`` (d(M)) and ``relative_variance`` are of all distances; ``auc``,
    ``cohens_d`` and ``confusion`` of the labelled ones.
    """

    tau: float
    method: str
    interval: Interval
    memorization_margin: float | None
    relative_variance: float | None
    auc: float | None
    cohens_d: float | None
    confusion: Confusion | None


@dataclass(frozen=True)
class _LabelledDistances:
    """The input of a method; the two classes are empty where nothing is labelled."""

    distances: Vector
    memorising: Vector
    legitimate: Vector
    alpha: float
    heldout_distance: float | None
    tau: float | None


def choose_tau(
    distances: ArrayLike,
    memorised: Labels | None = None,
    method: str = "margin",
    alpha: float = 0.0,
    heldout_distance: float | None = None,
    *,
    tau: float | None = None,
) -> ThresholdChoice:
    """Choose a threshold for memorization distances (n,) by one of :data:`METHODS`.

    ``memorised`` (n,) says of each entry True, False, or None (nan) where undecided.

    - ``margin``: catch the most memorisers with at most a share ``alpha`` of the legitimate ones;
    - ``accuracy``: the fewest labelled entries on the wrong side;
    - ``heldout``: half of ``heldout_distance``, the distance of real images never published;
    - ``otsu``: the split with the least variance inside the two parts, labels aside (Otsu 1979);
    - ``paper``: the mean, the literal argmin of the sum of (s - tau)^2;
    - ``manual``: the given ``tau``.

    Where many thresholds do equally well, the middle of the widest gap between entries is taken. A method
    that lacks an input raises :class:`Invalid` (``no-labels``, ``one-class-only``,
    ``no-heldout-distance``, ``no-distances``, ``no-split``, ``no-tau``) and is never replaced by another.
    """
    values = distances_of(distances)
    memorising, legitimate = classes_of([None] * len(values) if memorised is None else memorised, len(values))
    if method not in _CHOOSERS:
        raise Invalid("unknown-method", f"There is no method {method!r}; there are {', '.join(METHODS)}.")
    if not 0.0 <= alpha < 1.0:
        raise Invalid("bad-alpha", f"The share of legitimate entries to accept as wronged can't be {alpha}.")
    entries = _LabelledDistances(values, values[memorising], values[legitimate], alpha, heldout_distance, tau)
    threshold = _CHOOSERS[method](entries)
    labelled = bool(memorising.any() or legitimate.any())
    return ThresholdChoice(
        tau=threshold,
        method=method,
        interval=_interval_around(threshold, values),
        memorization_margin=memorization_margin(values) if len(values) else None,
        relative_variance=relative_variance(values),
        auc=area_under_curve(entries.memorising, entries.legitimate),
        cohens_d=cohens_d(entries.memorising, entries.legitimate),
        confusion=confusion_of(entries.memorising, entries.legitimate, threshold) if labelled else None,
    )


def _by_margin(entries: _LabelledDistances) -> float:
    _require_both_classes("margin", entries)

    def worth(caught: NDArray[np.intp], wronged: NDArray[np.intp]) -> NDArray[np.intp]:
        return np.where(wronged / len(entries.legitimate) <= entries.alpha, caught, -1)

    return _middle_of_the_best(entries, worth)


def _by_accuracy(entries: _LabelledDistances) -> float:
    _require_both_classes("accuracy", entries)
    return _middle_of_the_best(entries, lambda caught, wronged: caught - wronged)


def _by_heldout(entries: _LabelledDistances) -> float:
    if entries.heldout_distance is None:
        raise Invalid("no-heldout-distance", "The reference set has no held-out distance to take half of.")
    return _require_threshold(entries.heldout_distance, "The held-out distance") / 2.0


def _by_otsu(entries: _LabelledDistances) -> float:
    """Exact over all splits: prefix sums give the sum of squares within both parts of each."""
    ordered = np.sort(entries.distances)
    splits = np.flatnonzero(np.diff(ordered)) + 1  # sizes of the lower part
    if not len(splits):
        raise Invalid("no-split", "Otsu's method needs entries with at least two different distances.")
    total = ordered.sum()
    lower = np.cumsum(ordered)[splits - 1]
    upper_size = len(ordered) - splits
    between = lower**2 / splits + (total - lower) ** 2 / upper_size  # between the parts, up to a constant
    size = int(splits[np.argmax(between)])
    return _middle(float(ordered[size - 1]), float(ordered[size]))


def _by_paper(entries: _LabelledDistances) -> float:
    if not len(entries.distances):
        raise Invalid("no-distances", "The mean distance needs at least one entry.")
    return float(entries.distances.mean())


def _by_hand(entries: _LabelledDistances) -> float:
    if entries.tau is None:
        raise Invalid("no-tau", "A threshold set by hand needs its value.")
    return _require_threshold(entries.tau, "The threshold")


_CHOOSERS: dict[str, Callable[[_LabelledDistances], float]] = {
    "margin": _by_margin,
    "heldout": _by_heldout,
    "otsu": _by_otsu,
    "accuracy": _by_accuracy,
    "paper": _by_paper,
    "manual": _by_hand,
}

METHODS = tuple(_CHOOSERS)
"""The names of the methods, the default first."""


def _middle_of_the_best(
    entries: _LabelledDistances, worth: Callable[[NDArray[np.intp], NDArray[np.intp]], NDArray[np.intp]]
) -> float:
    """The middle of the widest gap between neighbouring distances among those of the highest worth.

    ``worth`` of (memorisers caught, legitimate wronged) per gap. The gap below all entries starts at
    0. The one above all has no end, so it counts as having no width: to penalise everybody must be
    better than every alternative, not equal to it.
    """
    edges = np.unique(entries.distances)
    lows, highs = np.append(0.0, edges), np.append(edges, edges[-1])
    caught = np.searchsorted(np.sort(entries.memorising), lows, side="right")
    wronged = np.searchsorted(np.sort(entries.legitimate), lows, side="right")
    caught[0] = wronged[0] = 0  # the first gap ends at the lowest distance and penalises nobody
    values = worth(caught, wronged)
    best = np.flatnonzero(values == values.max())
    gap = best[np.argmax((highs - lows)[best])]
    if gap == len(edges):
        return float(np.nextafter(edges[-1], np.inf))
    return _middle(float(lows[gap]), float(highs[gap]))


def _middle(low: float, high: float) -> float:
    """The middle of (low, high], which is ``high`` where no number lies between."""
    middle = low + (high - low) / 2.0
    return middle if middle > low else high


def _interval_around(tau: float, distances: Vector) -> Interval:
    below, above = distances[distances < tau], distances[distances >= tau]
    return Interval(float(below.max(initial=0.0)), float(above.min()) if len(above) else None)


def is_borderline(distances: Vector, standard_errors: Vector, tau: float) -> NDArray[np.bool_]:
    """Whether each distance (n,) is within two standard errors (n,) of tau; one whose error is nan never is."""
    return np.asarray(np.abs(distances - tau) <= 2.0 * standard_errors)


def _require_both_classes(method: str, entries: _LabelledDistances) -> None:
    if not len(entries.memorising) and not len(entries.legitimate):
        raise Invalid("no-labels", f"The method {method!r} needs labelled entries, and none is labelled yet.")
    if not len(entries.memorising) or not len(entries.legitimate):
        only = "memorising" if len(entries.memorising) else "legitimate"
        raise Invalid(
            "one-class-only",
            f"The method {method!r} needs entries of both kinds, and all that are labelled are {only}.",
        )


def _require_threshold(value: float, whose: str) -> float:
    if not (np.isfinite(value) and value >= 0.0):
        raise Invalid("bad-tau", f"{whose} must be a number of at least 0, not {value}.")
    return float(value)
