"""The support size of a generator: how many different images it has (Arora et al. 2018).

If a generator draws image i with probability p_i, two of its images are the same with probability sum p_i^2. Its
effective support is 1 / sum p_i^2 (the inverse Simpson index): the number of images of a generator that draws all
equally often and repeats as many. Among c compared pairs, the estimate is c / (number of nearly equal pairs).

Images of a table may be altered slightly, so that no two are equal. Images are therefore compared up to shifts,
mirroring, brightness and contrast (:mod:`scorer.metrics.copying.aligned_images`), and by an extractor's features.

An honest generator also draws images that are close, but how many pairs are closer than r rises steeply with r: near a
point of a d-dimensional set, like r^d (the correlation dimension of Grassberger and Procaccia 1983). The pairs of a
table are as close as its alterations are small, and up to the distance of different images there are no others. A
*gap* is a radius r with

    C(r) > C(1.5 r) / 1.5^2,    C(r) the number of pairs at distance <= r,

the count of a set with fewer than two dimensions. r is at most a third of the distance of different images. The
p-value is that of a normal test of C(r) - C(1.5 r) / 1.5^2. Its variance is a jackknife over images, because one image
can be in many pairs.

Images of one colour have no distance. They count in the pairs of equal pixels, which are a gap at r = 0.
"""

import hashlib
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import scipy

from scorer.errors import Invalid
from scorer.metrics.copying.aligned_images import AlignedImages
from scorer.metrics.copying.close_pairs import (
    ClosePairs,
    FeatureSpace,
    ImageSpace,
    PixelSpace,
    close_pairs,
    sample_distances,
)
from scorer.metrics.copying.thumbnails import Pixels, require_square
from scorer.metrics.features import Features
from scorer.progress import ProgressCallback

MAX_TABLE = 100_000
"""The largest support that is called a table: ten times the images of a draw."""
SIGNIFICANCE_LEVEL = 1e-4
"""Of each radius and space; about 50 are tested."""
WIDER, DIMENSIONS = 1.5, 2.0
LARGEST_RADIUS, RADII, STEP = 0.35, 25, 1.15
NEARLY_EQUAL = 0.1
"""The radius of nearly equal pairs if there is no gap. Radii are multiples of the distance of different images."""
DIFFERENT = 0.9
"""The quantile of all distances that is the distance of different images."""
MIN_DIFFERENT = 0.5
"""The least distance of different images in pixels. If all images are alike, no pair shows it."""

Space = Literal["pixels", "features", "equal pixels"]


@dataclass(frozen=True)
class SupportSize:
    """How many different images a generator has, from ``images`` of them."""

    images: int
    equal_pairs: int
    """Pairs with equal pixels, of all pairs."""
    near_pairs: int
    """Nearly equal pairs, of ``compared_pairs``."""
    compared_pairs: int
    size: float | None
    """The effective support; None without a nearly equal pair."""
    low: float
    high: float | None
    """The 95 % interval of ``size``; None if it has no upper end."""
    p_value: float
    """The probability of a gap this clear if the images form a set of at least two dimensions."""
    space: Space
    """Where a table is the smallest; without a table, where the gap is clearest."""

    @property
    def is_table(self) -> bool:
        return self.p_value < SIGNIFICANCE_LEVEL and self.size is not None and self.size <= MAX_TABLE


def estimate_support(
    draws: Sequence[Pixels],
    features: Sequence[Features] = (),
    *,
    seed: int = 0,
    progress: ProgressCallback = lambda _share: None,
) -> SupportSize:
    """The support size of the generator of ``draws``, each (n, s, s, 3) uint8, and of the ``features`` of the first of
    them, each (n, d).

    40,000 images take about half a minute on two cores. Raises :class:`Invalid`: ``bad-images``; ``bad-features`` or
    ``degenerate-features``; ``too-few-images`` for fewer than two images.
    """
    for draw in draws:
        require_square(draw)
    if sum(map(len, draws)) < 2:
        raise Invalid("too-few-images", "At least 2 images are needed.")
    aligned = AlignedImages(draws)
    order = np.random.default_rng(seed).permutation(np.flatnonzero(~aligned.is_flat))
    equal = equal_pixels(draws)
    found = []
    if len(order) > 1:
        pixels = PixelSpace(aligned, order)
        found.append(_find_gap(pixels, "pixels", min_different=MIN_DIFFERENT, equal=equal, progress=progress))
    with_features = order[order < sum(map(len, features))]
    if len(with_features) > 1:
        vectors = FeatureSpace(features, with_features)
        found.append(_find_gap(vectors, "features", min_different=0.0, equal=equal, progress=progress))
    tables = [support for support in (*found, equal) if support.is_table]
    if tables:
        return min(tables, key=lambda support: support.size or math.inf)
    return min(found, key=lambda support: support.p_value, default=equal)


def equal_pixels(draws: Sequence[Pixels]) -> SupportSize:
    """The support size of a generator according to the pairs of images with equal pixels, within and across draws."""
    hashes = Counter(hashlib.blake2b(np.ascontiguousarray(image).data).digest() for draw in draws for image in draw)
    times = np.array([*hashes.values()], np.float64)
    images = int(times.sum())
    pairs, compared = int((times * (times - 1.0)).sum()) // 2, math.comb(images, 2)

    def variance(rate: float) -> float:
        return max(pairs, float((times * np.square(times - 1.0 - rate * (images - 1))).sum()) - pairs)

    clarity = pairs / math.sqrt(variance(0.0)) if pairs else 0.0
    size, low, high = _support(pairs, compared, variance(pairs / compared))
    return SupportSize(
        images=images,
        equal_pairs=pairs,
        near_pairs=pairs,
        compared_pairs=compared,
        size=size,
        low=low,
        high=high,
        p_value=float(scipy.stats.norm.sf(clarity)),
        space="equal pixels",
    )


def _support(found: int, compared: int, variance: float) -> tuple[float | None, float, float | None]:
    """The effective support from the nearly equal pairs found among the compared ones, with its 95 % interval."""
    if not found:
        return None, compared / float(scipy.stats.chi2.ppf(0.975, 2) / 2.0), None
    rate = found / compared
    # The Poisson distribution with the same relative error, whose exact interval is known (Garwood 1936).
    effective = found**2 / variance
    few = float(scipy.stats.chi2.ppf(0.025, 2.0 * effective)) / 2.0
    many = float(scipy.stats.chi2.ppf(0.975, 2.0 * effective + 2.0)) / 2.0
    return 1.0 / rate, effective / many / rate, effective / few / rate


def _clarity(pairs: ClosePairs, radius: float) -> float:
    """How clear a gap at ``radius`` is, in standard errors."""
    weights = (pairs.distance <= radius) - (pairs.distance <= WIDER * radius) / WIDER**DIMENSIONS
    total, error = weights.sum(), math.sqrt(pairs.variance(weights, 0.0))
    return float(total / error) if error else 0.0


def support_within(pairs: ClosePairs, radius: float) -> tuple[float | None, float, float | None]:
    """The effective support from the pairs within ``radius``, with its 95 % interval."""
    near = pairs.distance <= radius
    found = int(near.sum())
    return _support(found, pairs.compared, pairs.variance(near.astype(np.float64), found / pairs.compared))


def _find_gap(
    vectors: ImageSpace, space: Space, *, min_different: float, equal: SupportSize, progress: ProgressCallback
) -> SupportSize:
    """The support size at the clearest gap of a space, or from its nearly equal pairs, next to that of equal pixels."""
    different = max(min_different, float(np.quantile(sample_distances(vectors), DIFFERENT)))
    largest = LARGEST_RADIUS * different
    pairs = close_pairs(vectors, WIDER * largest, progress=progress)
    radii = largest * STEP ** -np.arange(RADII)
    clarities = np.array([_clarity(pairs, radius) for radius in radii])
    p_value = float(scipy.stats.norm.sf(clarities.max()))
    radius = float(radii[clarities.argmax()] if p_value < SIGNIFICANCE_LEVEL else NEARLY_EQUAL * different)
    size, low, high = support_within(pairs, radius)
    return replace(
        equal,
        near_pairs=pairs.count(radius),
        compared_pairs=pairs.compared,
        size=size,
        low=low,
        high=high,
        p_value=p_value,
        space=space,
    )
