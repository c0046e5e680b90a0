"""The 1-nearest-neighbour two-sample test: the leave-one-out accuracy of distinguishing generated from real images.

The same number of real and generated images are pooled, and each is classified by its nearest other image (Lopez-Paz
and Oquab 2017; separate accuracies for real and generated images as in Xu et al. 2018). If both come from one
distribution, the accuracy is (n - 1) / (2 n - 1), about a half. Above it the two can be distinguished. If real is above
and generated below, the real images are closer together than the generated images; in the opposite case, the generated
images are concentrated in few places. If both are far below, the generated images are copies of the real images in the
sample.

The p-values come from permutations of the labels. Given the graph of nearest neighbours, the mean and the variance of
the number of correct answers over all ways to call n of the 2 n images real are exact (Schilling 1986). Their
distribution is assumed to be normal. Ties between equally near images are broken at random, because images are shuffled
first.
"""

from dataclasses import dataclass

import numpy as np
import scipy

from scorer.metrics.cosine import Indices
from scorer.metrics.euclidean import neighbours
from scorer.metrics.features import Features, Vector
from scorer.metrics.statistics.subsampling import equal_draws
from scorer.progress import ProgressCallback


@dataclass(frozen=True)
class Accuracy:
    """An accuracy, with its distribution if real and generated images come from one distribution."""

    share: float
    expected: float
    deviation: float
    """The standard deviation of ``share`` under that hypothesis."""

    @property
    def z(self) -> float:
        """``share`` in standard deviations above its expectation."""
        return (self.share - self.expected) / self.deviation if self.deviation else 0.0

    @property
    def p_above(self) -> float:
        """One-sided p-value for an accuracy above chance."""
        return float(scipy.stats.norm.sf(self.z))

    @property
    def p_below(self) -> float:
        """One-sided p-value for an accuracy below chance, as for copies and their originals."""
        return float(scipy.stats.norm.cdf(self.z))


@dataclass(frozen=True)
class TwoSample:
    """The test's result; ``count`` images of each kind took part."""

    real: Accuracy
    generated: Accuracy
    both: Accuracy
    count: int


@dataclass(frozen=True, eq=False)
class PooledSample:
    """The images that take part, with their order in the pool: the position of each generated (n,) and each real image
    (m,), or -1 for an image that takes no part. Among equally near images, the one at the lower position counts as the
    nearest."""

    generated: Indices
    reference: Indices

    @property
    def count(self) -> int:
        """The number of images of each kind that take part."""
        return int((self.generated >= 0).sum())


def draw_pool(generated: Features, reference: Features, *, random: np.random.Generator) -> PooledSample:
    """Draw from the larger of two sets, (n, d) and (m, d), and shuffle. Raises the errors of :func:`equal_draws`,
    ``too-few-images`` for fewer than two images."""
    real, own = equal_draws({"reference": reference, "generated": generated}, random, min_images=2)
    places = np.empty(2 * len(real), np.int64)
    places[random.permutation(2 * len(real))] = np.arange(2 * len(real))
    pool = PooledSample(np.full(len(generated), -1), np.full(len(reference), -1))
    pool.reference[real], pool.generated[own] = places[: len(real)], places[len(real) :]
    return pool


def two_sample(
    generated: Features,
    reference: Features,
    *,
    random: np.random.Generator,
    progress: ProgressCallback | None = None,
) -> TwoSample:
    """Test features (n, d) and (m, d), float32 or float64; ``random`` draws from the larger set and shuffles.

    ``progress`` is called with the finished share, rising to 1.0. Raises the errors of :func:`draw_pool`.
    """
    pool = draw_pool(generated, reference, random=random)
    pooled = np.empty((2 * pool.count, generated.shape[1]), np.result_type(generated, reference))
    for features, places in ((generated, pool.generated), (reference, pool.reference)):
        pooled[places[places >= 0]] = features[places >= 0]
    return two_sample_in(pool, neighbours(pooled, progress=progress).index[:, 0])


class PooledNeighbours:
    """The nearest image in the pool of every image of the pool, combined from searches among its parts."""

    def __init__(self, pool: PooledSample) -> None:
        self._pool = pool
        self._squares = np.full(2 * pool.count, np.inf)
        self.places = np.full(2 * pool.count, 2 * pool.count)

    def add(self, places: Indices, squares: Vector, nearest: Indices) -> None:
        """Take search results for the images at ``places``: squared distances and positions of their nearest images,
        each (k,). Images without a position are left out."""
        some = places >= 0
        places, squares, nearest = places[some], squares[some], nearest[some]
        tied = (squares == self._squares[places]) & (nearest < self.places[places])
        better = tied | (squares < self._squares[places])
        self._squares[places[better]], self.places[places[better]] = squares[better], nearest[better]


def two_sample_in(pool: PooledSample, nearest: Indices) -> TwoSample:
    """The test's result, from the position of the nearest image of every image of the pool, (2 count,)."""
    is_real = np.zeros(2 * pool.count, np.bool_)
    is_real[pool.reference[pool.reference >= 0]] = True
    is_correct = is_real == is_real[nearest]
    graph = _graph(nearest)
    return TwoSample(
        _accuracy(float(is_correct[is_real].mean()), pool.count, graph, kinds=1),
        _accuracy(float(is_correct[~is_real].mean()), pool.count, graph, kinds=1),
        _accuracy(float(is_correct.mean()), pool.count, graph, kinds=2),
        pool.count,
    )


def _graph(nearest: Indices) -> tuple[int, int, int]:
    """The numbers of ordered pairs of edges image -> nearest image that share both ends, one end, or no end."""
    count = len(nearest)
    both = int(np.count_nonzero(nearest[nearest] == np.arange(count)))
    popular = np.bincount(nearest, minlength=count)
    # Two edges into one image, or an edge into the start of another edge that does not lead straight back.
    one = int((popular * (popular - 1)).sum()) + 2 * (count - both)
    return both, one, count * (count - 1) - both - one


def _accuracy(share: float, per_kind: int, graph: tuple[int, int, int], *, kinds: int) -> Accuracy:
    """Accuracy on the images of ``kinds`` kinds, with its moments over random labellings of 2 ``per_kind`` images."""
    both, one, none = graph
    count = 2 * per_kind
    two, three = kinds * _chance(per_kind, 2), kinds * _chance(per_kind, 3)
    four = kinds * _chance(per_kind, 4) + (kinds - 1) * 2 * _two_and_two(per_kind)
    expected = count * two
    variance = (count + both) * two + one * three + none * four - expected**2
    classified = kinds * per_kind
    return Accuracy(share, expected / classified, float(np.sqrt(max(0.0, variance))) / classified)


def _chance(per_kind: int, images: int) -> float:
    """The probability that all of ``images`` given images are of one given kind, out of 2 ``per_kind`` images."""
    return float(np.prod([max(0, per_kind - step) / max(1, 2 * per_kind - step) for step in range(images)]))


def _two_and_two(per_kind: int) -> float:
    """The probability that two given images are of one given kind and two others of the other kind."""
    whole = 2 * per_kind
    return (per_kind * (per_kind - 1)) ** 2 / (whole * (whole - 1) * (whole - 2) * (whole - 3)) if whole > 3 else 0.0
