"""PRD curves: precision and recall of distributions at every trade-off (Sajjadi et al. 2018).

    alpha(l) = sum over cells of min(l p, q),   beta(l) = alpha(l) / l,   l = tan(angle)     (Sajjadi et al. 2018)
    F_b = max over l of (1 + b^2) alpha beta / (b^2 alpha + beta) = max of (1 + b^2) alpha(l) / (1 + b^2 l)

for the shares p of the real and q of the generated images in the cells of k-means (k = 20) over both sets together.
F_8 weighs recall, F_1/8 precision. As many real as generated images take part, or the cells would follow the larger
set. The maximum is not differentiable where the best angle changes, so its standard error is a bootstrap over the
shares, the cells being given.
"""

from collections.abc import Callable
from dataclasses import astuple, dataclass

import numpy as np

from scorer.errors import Invalid
from scorer.metrics.features import Features, Vector
from scorer.metrics.statistics.subsampling import equal_subsamples

CELLS = 20
ANGLES = 1001
WEIGHT = 8.0
_RESAMPLES = 100
_EDGE = 1e-10  # the first angle's distance from 0, and the last one's from a right angle


@dataclass(frozen=True, eq=False)
class PrdCurve:
    """``precision`` and ``recall`` in [0, 1] at each angle, (angles,)."""

    precision: Vector
    recall: Vector


@dataclass(frozen=True)
class PrdSummary:
    """A curve in two numbers, in [0, 1], 1 for equal distributions."""

    recall: float
    """F_8"""
    precision: float
    """F_1/8"""


@dataclass(frozen=True)
class PrecisionRecall:
    """The mean summary of some clusterings of ``count`` images of either kind, with standard errors."""

    mean: PrdSummary
    error: PrdSummary
    clusterings: int
    count: int


def curve_of(generated: Vector, real: Vector, angles: int = ANGLES) -> PrdCurve:
    """The curve of shares q and p of cells, (k,) each. Raises :class:`Invalid`: ``bad-count`` below two angles."""
    rates = _rates(angles)
    precision = np.minimum(np.outer(rates, real), generated).sum(axis=1)
    return PrdCurve(precision, precision / rates)


def summary_of(generated: Vector, real: Vector, angles: int = ANGLES) -> PrdSummary:
    """F_8 and F_1/8 of shares q and p of cells, (k,) each."""
    rates = _rates(angles)
    precision = curve_of(generated, real, angles).precision
    recall, precise = (
        float(((1.0 + square) / (1.0 + square * rates) * precision).max()) for square in (WEIGHT**2, WEIGHT**-2)
    )
    return PrdSummary(recall, precise)


def prd(
    generated: Features,
    reference: Features,
    *,
    random: np.random.Generator,
    clusterings: int = 1,
    cells: int = CELLS,
    progress: Callable[[float], None] | None = None,
) -> PrecisionRecall:
    """The summary of features (n, d) and (m, d), float32 or float64: the mean over some clusterings.

    The paper takes ten of them. ``random`` draws from the larger set, seeds k-means and draws anew for the errors.
    ``progress`` is called with the finished share, rising to 1.0. Raises :class:`Invalid`: ``bad-count``, and as
    :func:`equal_subsamples` does.
    """
    if clusterings < 1 or cells < 1:
        raise Invalid("bad-count", f"At least 1 clustering of 1 cell is needed, not {clusterings} of {cells}.")
    drawn = equal_subsamples({"generated": generated, "reference": reference}, random, min_images=cells)
    both = np.concatenate(drawn)
    count = len(drawn[0])
    means, errors = [], []
    for number in range(clusterings):
        labels = _labels(both, cells, int(random.integers(2**31)))
        q, p = (np.bincount(part, minlength=cells) / count for part in (labels[:count], labels[count:]))
        means.append(astuple(summary_of(q, p)))
        errors.append(_spread(q, p, count, random))
        if progress:
            progress((number + 1) / clusterings)
    mean, error = (PrdSummary(*np.mean(summaries, axis=0).tolist()) for summaries in (means, errors))
    return PrecisionRecall(mean, error, clusterings, count)


def _rates(angles: int) -> Vector:
    if angles < 2:
        raise Invalid("bad-count", f"A curve needs at least 2 angles, not {angles}.")
    return np.asarray(np.tan(np.linspace(_EDGE, np.pi / 2 - _EDGE, angles)))


def _spread(generated: Vector, real: Vector, count: int, random: np.random.Generator) -> Vector:
    """Bootstrap standard deviations of both numbers: as many images drawn again from the measured shares."""
    drawn = (random.multinomial(count, shares, _RESAMPLES) / count for shares in (generated, real))
    summaries = [astuple(summary_of(q, p)) for q, p in zip(*drawn, strict=True)]
    return np.asarray(np.std(summaries, axis=0, ddof=1))


def _labels(features: Features, cells: int, seed: int) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
    from sklearn.cluster import MiniBatchKMeans  # noqa: PLC0415 - for fitting only; reading results needs no scikit-learn

    fitted = MiniBatchKMeans(cells, n_init=10, random_state=seed).fit(features)
    return np.asarray(fitted.labels_, np.int32)
