"""Precision and recall as a curve: how much of one distribution another can account for, at every exchange rate.

    alpha(l) = sum over cells of min(l p, q),   beta(l) = alpha(l) / l,   l = tan(angle)     (Sajjadi et al. 2018)
    F_b = max over l of (1 + b^2) alpha beta / (b^2 alpha + beta) = max of (1 + b^2) alpha(l) / (1 + b^2 l)

for the shares p of the real and q of the generated images in the cells of k-means (k = 20) over both sets together.
F_8 weighs recall, F_1/8 precision. Real and generated are as many, or the cells would follow the larger set. The
standard errors are those of the shares, the cells being given, at the l where the maximum is.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from scorer.errors import Invalid
from scorer.metrics.drawing import equally_many
from scorer.metrics.features import Features, Vector

CELLS, ANGLES, WEIGHT = 20, 1001, 8.0
_EDGE = 1e-10  # the first angle's distance from 0, and the last one's from a right angle


@dataclass(frozen=True, eq=False)
class Curve:
    """``precision`` and ``recall`` in [0, 1] at each angle, (angles,)."""

    precision: Vector
    recall: Vector


@dataclass(frozen=True)
class Summary:
    """A curve in two numbers, in [0, 1], 1 for equal distributions, with their standard errors."""

    recall: float
    """F_8"""
    precision: float
    """F_1/8"""
    recall_error: float
    precision_error: float
    clusterings: int = 1


def curve_of(generated: Vector, real: Vector, angles: int = ANGLES) -> Curve:
    """The curve of shares q and p of cells, (k,) each. Raises :class:`Invalid`: ``bad-count`` for no two angles."""
    rates = _rates(angles)
    precision = np.minimum(np.outer(rates, real), generated).sum(axis=1)
    return Curve(precision, precision / rates)


def summary_of(generated: Vector, real: Vector, count: int, angles: int = ANGLES, weight: float = WEIGHT) -> Summary:
    """F_weight and F_1/weight of shares q and p, (k,) each, of ``count`` images of either kind."""
    rates = _rates(angles)
    curve = curve_of(generated, real, angles)
    found = []
    for square in (weight**2, weight**-2):
        factors = (1.0 + square) / (1.0 + square * rates)
        best = int((factors * curve.precision).argmax())
        error = factors[best] * _error(generated, real, float(rates[best]), count)
        found.append((float(factors[best] * curve.precision[best]), float(error)))
    (recall, recall_error), (precision, precision_error) = found
    return Summary(recall, precision, recall_error, precision_error)


def prd(
    generated: Features,
    reference: Features,
    *,
    random: np.random.Generator,
    clusterings: int = 1,
    cells: int = CELLS,
    progress: Callable[[float], None] | None = None,
) -> Summary:
    """The summary of features (n, d) and (m, d), float32 or float64, over the mean of some clusterings.

    The paper takes ten clusterings, which differ by less than the standard errors. ``random`` draws from the larger set
    and seeds k-means. ``progress`` hears the finished share, rising to 1.0. Raises :class:`Invalid`: ``bad-count``, and
    as :func:`equally_many` does.
    """
    if clusterings < 1 or cells < 1:
        raise Invalid("bad-count", f"At least 1 clustering of 1 cell is needed, not {clusterings} of {cells}.")
    drawn = equally_many({"generated": generated, "reference": reference}, random, least=cells)
    both, count = np.concatenate(drawn), len(drawn[0])
    found = []
    for number in range(clusterings):
        labels = _labels(both, cells, int(random.integers(2**31)))
        q, p = (np.bincount(part, minlength=cells) / count for part in (labels[:count], labels[count:]))
        found.append(summary_of(q, p, count))
        if progress:
            progress((number + 1) / clusterings)
    means = np.mean([(each.recall, each.precision, each.recall_error, each.precision_error) for each in found], axis=0)
    return Summary(*(float(mean) for mean in means), clusterings)


def _rates(angles: int) -> Vector:
    if angles < 2:
        raise Invalid("bad-count", f"A curve needs at least 2 angles, not {angles}.")
    return np.asarray(np.tan(np.linspace(_EDGE, np.pi / 2 - _EDGE, angles)))


def _error(generated: Vector, real: Vector, rate: float, count: int) -> float:
    """Of alpha(rate): an image counts where its own side is the smaller one, a real one ``rate`` times."""
    own, other = float(generated[generated < rate * real].sum()), float(real[rate * real <= generated].sum())
    return float(np.sqrt((own * (1.0 - own) + rate**2 * other * (1.0 - other)) / count))


def _labels(features: Features, cells: int, seed: int) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
    from sklearn.cluster import MiniBatchKMeans  # noqa: PLC0415 - for fitting only: who reads results needs none of it

    fitted = MiniBatchKMeans(cells, n_init=10, random_state=seed).fit(features)
    return np.asarray(fitted.labels_, np.int32)
