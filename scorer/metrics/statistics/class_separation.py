"""Separation of memorising from legitimate entries, by a threshold or by a whole feature space.

Distances are memorization distances s; memorising entries have smaller ones. A number that does not exist (a comparison
with an empty class, the spread of nothing) is None.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scorer.errors import Invalid
from scorer.metrics.features import Vector
from scorer.metrics.statistics.mann_whitney import mann_whitney

Mask = NDArray[np.bool_]
Labels = Sequence[bool | float | None] | NDArray[Any]


@dataclass(frozen=True)
class Confusion:
    """Labelled entries against a threshold; *positive* means memorising, *predicted* means s < tau."""

    true_positives: int
    """memorising and penalised"""
    false_negatives: int
    """memorising and not penalised"""
    false_positives: int
    """legitimate and penalised"""
    true_negatives: int
    """legitimate and not penalised"""

    @property
    def errors(self) -> int:
        return self.false_negatives + self.false_positives


def distances_of(values: ArrayLike) -> Vector:
    """Distances (n,) as float64; :class:`Invalid` (``bad-distances``) if one is not finite or below 0."""
    distances = np.asarray(values, dtype=np.float64)
    if distances.ndim != 1:
        raise Invalid("bad-distances", f"Distances must be one list of numbers, but their shape is {distances.shape}.")
    wrong = np.flatnonzero(~(np.isfinite(distances) & (distances >= 0.0)))
    if len(wrong):
        raise Invalid(
            "bad-distances",
            f"{len(wrong)} distance(s) are negative or not finite, the first at entry {wrong[0]}.",
            rows=[int(row) for row in wrong],
        )
    return distances


def classes_of(memorised: Labels, count: int) -> tuple[Mask, Mask]:
    """(memorising, legitimate) masks (n,) from labels: true, false, or None or nan for unlabelled.

    Raises :class:`Invalid` (``bad-labels``) for a wrong number of labels or an unknown label.
    """
    if not isinstance(memorised, np.ndarray) or memorised.dtype == object:
        memorised = np.array([np.nan if label is None else float(label) for label in memorised], dtype=np.float64)
    labels = memorised.astype(np.float64)
    if len(labels) != count:
        raise Invalid("bad-labels", f"There are {len(labels)} labels for {count} distances.")
    if not np.isin(labels[~np.isnan(labels)], (0.0, 1.0)).all():
        raise Invalid("bad-labels", "A label must be true (memorising), false (legitimate) or null (unlabelled).")
    return labels == 1.0, labels == 0.0


def memorization_margin(distances: ArrayLike) -> float:
    """d(M) = min over tau of the sum of (s - tau)^2, attained at the mean (Bai et al. 2021, section 2.2).

    It is n times the variance. It grows with the number of entries and the scale of the space and ignores labels, so
    also compare extractors by AUC and Cohen's d. Raises :class:`Invalid` (``no-distances``) for an empty list.
    """
    values = distances_of(distances)
    if not len(values):
        raise Invalid("no-distances", "There are no entries, so there is no memorization margin.")
    return float(np.square(values - values.mean()).sum())


def relative_variance(distances: Vector) -> float | None:
    """Squared coefficient of variation, var / mean^2: the spread d(M) without its scale and number.

    None for fewer than two entries or if every distance is 0.
    """
    if len(distances) < 2 or not distances.any():
        return None
    return float(distances.var(ddof=1) / distances.mean() ** 2)


def area_under_curve(memorising: Vector, legitimate: Vector) -> float | None:
    """The probability that a memorising entry is closer than a legitimate one; ties count half (ROC AUC)."""
    if not len(memorising) or not len(legitimate):
        return None
    return mann_whitney(legitimate, memorising).share


def cohens_d(memorising: Vector, legitimate: Vector) -> float | None:
    """The difference of the class means divided by the root of the mean of the two class variances (n - 1).

    Both classes have the same weight, for any number of entries (Cohen 1988, eq. 2.3.2). None if a class has fewer than
    two entries or neither class varies.
    """
    if len(memorising) < 2 or len(legitimate) < 2:
        return None
    variance = (memorising.var(ddof=1) + legitimate.var(ddof=1)) / 2.0
    return float((legitimate.mean() - memorising.mean()) / np.sqrt(variance)) if variance > 0.0 else None


def confusion_of(memorising: Vector, legitimate: Vector, tau: float) -> Confusion:
    """Count the labelled entries below ``tau``, and those at or above it."""
    caught, wronged = int((memorising < tau).sum()), int((legitimate < tau).sum())
    return Confusion(caught, len(memorising) - caught, wronged, len(legitimate) - wronged)
