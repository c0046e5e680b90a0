"""PRD curves: precision and recall of distributions at every trade-off (Sajjadi et al. 2018).

    alpha(l) = sum over cells of min(l p, q),   beta(l) = alpha(l) / l,   l = tan(angle)     (Sajjadi et al. 2018)
    F_b = max over l of (1 + b^2) alpha beta / (b^2 alpha + beta) = max of (1 + b^2) alpha(l) / (1 + b^2 l)

for the shares p of the real and q of the generated images in the cells of k-means (k = 20) over both sets together,
averaged over ten clusterings, as in the paper. (The authors' code takes the best of ten starts for each clustering. The
mean varies less than a single clustering, and the error includes its variation.) F_8 weights recall, F_1/8 precision.
The same number of real and generated images take part; otherwise the cells would follow the larger set. The standard
error has two parts, W + B / clusterings. W is the variance of the mean over the choice of images, for the same cells.
It comes from a bootstrap, because the maximum is not differentiable where the best angle changes. B is the variance
between the clusterings of the same images.
"""

from dataclasses import astuple, dataclass

import numpy as np
from numpy.typing import NDArray

from scorer.metrics.features import Features, Vector
from scorer.metrics.statistics.subsampling import equal_subsamples
from scorer.metrics.threads import map_parts
from scorer.progress import ProgressCallback

CELLS = 20
CLUSTERINGS = 10
ANGLES = 1001
WEIGHT = 8.0
_RESAMPLES = 100
Labels = NDArray[np.int32]
_EDGE = 1e-10  # the distance of the first angle from 0 and of the last angle from a right angle


@dataclass(frozen=True)
class PrdSummary:
    """A curve in two numbers, in [0, 1]; 1 for equal distributions."""

    recall: float
    """F_8"""
    precision: float
    """F_1/8"""


@dataclass(frozen=True)
class PrecisionRecall:
    """The mean summary of several clusterings of ``count`` images of each kind, with standard errors."""

    mean: PrdSummary
    error: PrdSummary
    between: PrdSummary
    """The standard deviation between the clusterings (divided by s - 1); 0 for a single clustering."""
    clusterings: int
    count: int


def curve_of(generated: Vector, real: Vector, angles: int = ANGLES) -> tuple[Vector, Vector]:
    """Precision and recall in [0, 1] at each angle, (angles,) each, of shares q and p of cells, (k,) each."""
    rates = _rates(angles)
    precision = np.minimum(np.outer(rates, real), generated).sum(axis=1)
    return precision, precision / rates


def summary_of(generated: Vector, real: Vector, angles: int = ANGLES) -> PrdSummary:
    """F_8 and F_1/8 of shares q and p of cells, (k,) each."""
    rates = _rates(angles)
    precision, _ = curve_of(generated, real, angles)
    recall, precise = (
        float(((1.0 + square) / (1.0 + square * rates) * precision).max()) for square in (WEIGHT**2, WEIGHT**-2)
    )
    return PrdSummary(recall, precise)


def prd(
    generated: Features,
    reference: Features,
    *,
    random: np.random.Generator,
    clusterings: int = CLUSTERINGS,
    cells: int = CELLS,
    progress: ProgressCallback | None = None,
) -> PrecisionRecall:
    """The summary of features (n, d) and (m, d), float32 or float64: the mean over several clusterings.

    ``random`` draws from the larger set, seeds k-means, and draws the bootstrap samples. ``progress`` is called with
    the finished share, rising to 1.0. Raises the errors of :func:`equal_subsamples`.
    """
    drawn = equal_subsamples({"generated": generated, "reference": reference}, random, min_images=cells)
    both = np.concatenate(drawn)
    count = len(drawn[0])
    labels = np.empty((clusterings, 2, count), np.int32)
    seeds = [int(random.integers(2**31)) for _ in range(clusterings)]
    for number, clustering in enumerate(map_parts(lambda seed: _labels(both, cells, seed), seeds)):
        labels[number] = clustering.reshape(2, count)
        if progress:
            progress((number + 1) / clusterings)
    summaries = _summaries(labels, cells)
    between = summaries.std(axis=0, ddof=1) if clusterings > 1 else np.zeros(2)
    error = np.sqrt(np.square(_spread(labels, cells, random)) + np.square(between) / clusterings)
    means, errors, deviations = (PrdSummary(*pair.tolist()) for pair in (summaries.mean(axis=0), error, between))
    return PrecisionRecall(means, errors, deviations, clusterings, count)


def _summaries(labels: Labels, cells: int) -> Vector:
    """F_8 and F_1/8 of each clustering, (c, 2), from the cells of generated and real images, (c, 2, n)."""
    shares = [[np.bincount(part, minlength=cells) / len(part) for part in pair] for pair in labels]
    return np.array([astuple(summary_of(q, p)) for q, p in shares])


def _spread(labels: Labels, cells: int, random: np.random.Generator) -> Vector:
    """Bootstrap standard deviations of both means over the clusterings, (2,). Each sample draws the same images for all
    clusterings and leaves the cells unchanged."""
    count = labels.shape[2]
    means = np.empty((_RESAMPLES, 2))
    for number in range(_RESAMPLES):
        rows = random.integers(0, count, (2, count))
        means[number] = _summaries(np.take_along_axis(labels, rows[None], axis=2), cells).mean(axis=0)
    return np.asarray(means.std(axis=0, ddof=1))


def _rates(angles: int) -> Vector:
    return np.asarray(np.tan(np.linspace(_EDGE, np.pi / 2 - _EDGE, angles)))


def _labels(features: Features, cells: int, seed: int) -> Labels:
    from sklearn.cluster import MiniBatchKMeans  # noqa: PLC0415 - for fitting only; reading results needs no scikit-learn

    fitted = MiniBatchKMeans(cells, init=_first_centres, n_init=1, random_state=seed).fit(features)
    return np.asarray(fitted.labels_, np.int32)


def _first_centres(features: Features, cells: int, random_state: np.random.RandomState) -> Vector:
    """k-means++ of scikit-learn on float64 features; with float32 it would convert them again for each cell."""
    from sklearn.cluster import kmeans_plusplus  # noqa: PLC0415

    return np.asarray(kmeans_plusplus(features.astype(np.float64), cells, random_state=random_state)[0])
