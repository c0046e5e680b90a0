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
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Literal, Protocol

import numpy as np
import scipy

from scorer.errors import Invalid
from scorer.metrics.copying.aligned_images import MAX_GAIN, AlignedImages, Rows, largest_between_places, unit
from scorer.metrics.copying.thumbnails import Pixels, require_square
from scorer.metrics.cosine import Indices
from scorer.metrics.features import Features, Vector, require_finite, require_matrix
from scorer.metrics.threads import map_parts

MAX_TABLE = 100_000
"""The largest support that is called a table: ten times the images of a draw."""
SIGNIFICANCE_LEVEL = 1e-4
"""Of each radius and space; about 50 are tested."""
MAX_COMPARED = 20_000_000
"""About this many pairs are compared: those of a random part of the images with all."""
MAX_CLOSE = 1_000_000
"""After this many close pairs, no more images are compared: a collapsed generator has millions."""
WIDER, DIMENSIONS = 1.5, 2.0
LARGEST_RADIUS, RADII, STEP = 0.35, 25, 1.15
NEARLY_EQUAL = 0.1
"""The radius of nearly equal pairs if there is no gap. Radii are multiples of the distance of different images."""
DIFFERENT = 0.9
"""The quantile of all distances that is the distance of different images."""
MIN_DIFFERENT = 0.5
"""The least distance of different images in pixels. If all images are alike, no pair shows it."""
_SCALE_ROWS, _ROW_WINDOWS, _COLUMNS = 64, 2592, 4096

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
    progress: Callable[[float], None] = lambda _share: None,
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
        pixels = _PixelSpace(aligned, order)
        found.append(_find_gap(pixels, "pixels", min_different=MIN_DIFFERENT, equal=equal, progress=progress))
    with_features = order[order < sum(map(len, features))]
    if len(with_features) > 1:
        vectors = _FeatureSpace(features, with_features)
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


class _Space(Protocol):
    """Images as unit vectors, in random order."""

    columns: Rows

    def rows(self, part: slice) -> Rows:
        """The vectors of some images, (rows, variants, d)."""

    def largest(self, cosines: Rows) -> Rows:
        """The cosine of each pair, from those of all variants, (pairs, variants)."""


class _PixelSpace:
    def __init__(self, aligned: AlignedImages, order: Indices) -> None:
        self._aligned, self._order = aligned, order
        self.columns = aligned.middles[order]

    def rows(self, part: slice) -> Rows:
        return self._aligned.windows(self._order[part])

    def largest(self, cosines: Rows) -> Rows:
        return largest_between_places(cosines)


class _FeatureSpace:
    def __init__(self, features: Sequence[Features], order: Indices) -> None:
        for draw in features:
            require_matrix(draw, "generated")
            require_finite(draw, "generated")
        rows = np.concatenate(features, dtype=np.float32)[order]
        rows -= rows.mean(axis=0, dtype=np.float64).astype(np.float32)
        self.columns = unit(rows)

    def rows(self, part: slice) -> Rows:
        return self.columns[part, None]

    def largest(self, cosines: Rows) -> Rows:
        return cosines[:, 0]


@dataclass(frozen=True, eq=False)
class ClosePairs:
    """The close pairs among those of the first ``rows`` of ``images`` with each other and with all others, by
    position."""

    first: Indices
    second: Indices
    distance: Rows
    rows: int
    images: int

    @property
    def compared(self) -> int:
        return self.rows * (2 * self.images - self.rows - 1) // 2

    def count(self, radius: float) -> int:
        return int(np.count_nonzero(self.distance <= radius))

    def clarity(self, radius: float) -> float:
        """How clear a gap at ``radius`` is, in standard errors."""
        weights = (self.distance <= radius) - (self.distance <= WIDER * radius) / WIDER**DIMENSIONS
        total, error = weights.sum(), math.sqrt(self._variance(weights, 0.0))
        return float(total / error) if error else 0.0

    def support(self, radius: float) -> tuple[float | None, float, float | None]:
        """The effective support from the pairs within ``radius``, with its 95 % interval."""
        near = self.distance <= radius
        found = int(near.sum())
        return _support(found, self.compared, self._variance(near.astype(np.float64), found / self.compared))

    def _variance(self, weights: Vector, rate: float) -> float:
        """The variance of the sum of the pairs' ``weights``, expected to be ``rate`` times the compared pairs.

        A jackknife over images counts the part that pairs have of their own twice.
        """
        own = float(np.square(weights).sum())
        sums = np.bincount(self.first, weights, self.images) + np.bincount(self.second, weights, self.images)
        compared = np.where(np.arange(self.images) < self.rows, self.images - 1, self.rows)
        return max(own, float(np.square(sums - rate * compared).sum()) - own)


def _find_gap(
    vectors: _Space, space: Space, *, min_different: float, equal: SupportSize, progress: Callable[[float], None]
) -> SupportSize:
    """The support size at the clearest gap of a space, or from its nearly equal pairs, next to that of equal pixels."""
    sample = _distances(_cosines(vectors.rows(slice(0, _SCALE_ROWS)), vectors.columns[:_COLUMNS]).max(axis=1))
    different = max(min_different, float(np.quantile(sample, DIFFERENT)))
    largest = LARGEST_RADIUS * different
    pairs = _close_pairs(vectors, WIDER * largest, progress=progress)
    radii = largest * STEP ** -np.arange(RADII)
    clarities = np.array([pairs.clarity(radius) for radius in radii])
    p_value = float(scipy.stats.norm.sf(clarities.max()))
    radius = float(radii[clarities.argmax()] if p_value < SIGNIFICANCE_LEVEL else NEARLY_EQUAL * different)
    size, low, high = pairs.support(radius)
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


def _close_pairs(vectors: _Space, limit: float, *, progress: Callable[[float], None]) -> ClosePairs:
    """The pairs at a distance of at most ``limit``."""
    images = len(vectors.columns)
    rows = min(images, math.ceil(MAX_COMPARED / images))
    height = max(1, _ROW_WINDOWS // vectors.rows(slice(0, 1)).shape[1])

    def close(part: slice) -> tuple[Indices, Indices, Rows]:
        rows, pairs = vectors.rows(part), []
        for start in range(part.start, images, _COLUMNS):
            cosines = _cosines(rows, vectors.columns[start : start + _COLUMNS])
            later = np.arange(start, start + cosines.shape[2]) > np.arange(part.start, part.stop)[:, None]
            first, second = np.nonzero((cosines.max(axis=1) >= 1.0 - limit**2 / 2.0 - MAX_GAIN) & later)
            distances = _distances(vectors.largest(cosines[first, :, second]))
            near = distances <= limit
            pairs.append((first[near] + part.start, second[near] + start, distances[near]))
        return _joined(pairs)

    parts = [slice(start, min(start + height, rows)) for start in range(0, rows, height)]
    found: list[tuple[Indices, Indices, Rows]] = []
    compared = total = 0
    with closing(map_parts(close, parts)) as results:
        for part, pairs in zip(parts, results, strict=True):
            found.append(pairs)
            compared, total = part.stop, total + len(pairs[0])
            progress(compared / rows)
            if total >= MAX_CLOSE:
                break
    return ClosePairs(*_joined(found), compared, images)


def _joined(pairs: Sequence[tuple[Indices, Indices, Rows]]) -> tuple[Indices, Indices, Rows]:
    first, second, distances = zip(*pairs, strict=True)
    return np.concatenate(first), np.concatenate(second), np.concatenate(distances)


def _cosines(rows: Rows, columns: Rows) -> Rows:
    """The cosines of rows (r, variants, d) and columns (c, d), (r, variants, c)."""
    cosines: Rows = (rows.reshape(-1, rows.shape[2]) @ columns.T).reshape(*rows.shape[:2], -1)
    return cosines


def _distances(cosines: Rows) -> Rows:
    distances: Rows = np.sqrt(np.maximum(2.0 - 2.0 * cosines, 0.0))
    return distances
