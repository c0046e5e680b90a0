"""Whose is the nearest image? The accuracy of a classifier that answers with the nearest other image's kind.

As many real as generated images are thrown together, and each is taken for what its nearest other image is
(Lopez-Paz and Oquab 2017; real and generated apart as in Xu et al. 2018). Where both come from one law the accuracy is
(n - 1) / (2 n - 1), about a half. Above it the two can be told apart. Real above and generated below: the real ones
lie closer together than the generated ones; the other way round: the generated ones sit in few places. Both far below:
the generated images are copies of the very real ones that take part.

The p-values are those of drawing labels anew for the same images: given who is whose neighbour, the mean and the
variance of the number of right answers over all ways to call n of the 2 n images real are exact (Schilling 1986), and
its law is taken for normal. An even chance decides between equally near images, since the images are shuffled first.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.stats import norm

from scorer.metrics.cosine import Indices
from scorer.metrics.euclidean import neighbours
from scorer.metrics.features import Features
from scorer.metrics.statistics.subsampling import equal_subsamples


@dataclass(frozen=True)
class Accuracy:
    """A share of right answers, with its law if real and generated images were the same."""

    share: float
    expected: float
    deviation: float
    """The standard deviation of ``share`` under that hypothesis."""

    @property
    def z(self) -> float:
        """How many deviations above the expectation."""
        return (self.share - self.expected) / self.deviation if self.deviation else 0.0

    @property
    def p_above(self) -> float:
        """One-sided p-value for the images being told apart better than by chance."""
        return float(norm.sf(self.z))

    @property
    def p_below(self) -> float:
        """One-sided p-value for their being told apart worse than by chance, as copies and originals are."""
        return float(norm.cdf(self.z))


@dataclass(frozen=True)
class TwoSample:
    """The test's result; ``count`` images of each kind took part."""

    real: Accuracy
    generated: Accuracy
    both: Accuracy
    count: int


def two_sample(
    generated: Features,
    reference: Features,
    *,
    random: np.random.Generator,
    progress: Callable[[float], None] | None = None,
) -> TwoSample:
    """Test features (n, d) and (m, d), float32 or float64; ``random`` draws from the larger set and shuffles.

    ``progress`` hears the finished share, rising to 1.0. Raises :class:`Invalid` as :func:`equally_many` does,
    ``too-few-images`` for fewer than two images.
    """
    drawn = equal_subsamples({"reference": reference, "generated": generated}, random, least=2)
    count = len(drawn[0])
    order = random.permutation(2 * count)
    nearest = neighbours(np.concatenate(drawn)[order], progress=progress).index[:, 0]
    is_real = order < count
    right = is_real == is_real[nearest]
    graph = _graph(nearest)
    return TwoSample(
        _accuracy(float(right[is_real].mean()), count, graph, kinds=1),
        _accuracy(float(right[~is_real].mean()), count, graph, kinds=1),
        _accuracy(float(right.mean()), count, graph, kinds=2),
        count,
    )


def _graph(nearest: Indices) -> tuple[int, int, int]:
    """Ordered pairs of two arrows image -> nearest image that have both ends, one end, no end in common."""
    count = len(nearest)
    both = int(np.count_nonzero(nearest[nearest] == np.arange(count)))
    popular = np.bincount(nearest, minlength=count)
    # Two arrows into one image; an arrow into the start of another one, unless that one leads straight back.
    one = int((popular * (popular - 1)).sum()) + 2 * (count - both)
    return both, one, count * (count - 1) - both - one


def _accuracy(share: float, each: int, graph: tuple[int, int, int], *, kinds: int) -> Accuracy:
    """``share`` of the images of ``kinds`` kinds, with the moments of a random labelling of 2 ``each`` images."""
    both, one, none = graph
    count = 2 * each
    two, three = kinds * _chance(each, 2), kinds * _chance(each, 3)
    four = kinds * _chance(each, 4) + (kinds - 1) * 2 * _two_and_two(each)
    expected = count * two
    variance = (count + both) * two + one * three + none * four - expected**2
    asked = kinds * each
    return Accuracy(share, expected / asked, float(np.sqrt(max(0.0, variance))) / asked)


def _chance(each: int, images: int) -> float:
    """The probability that so many given images are all of one given kind."""
    return float(np.prod([max(0, each - step) / max(1, 2 * each - step) for step in range(images)]))


def _two_and_two(each: int) -> float:
    """The probability that two given images are of one given kind and two others of the other one."""
    whole = 2 * each
    return (each * (each - 1)) ** 2 / (whole * (whole - 1) * (whole - 2) * (whole - 3)) if whole > 3 else 0.0
