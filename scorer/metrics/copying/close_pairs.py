"""Pairs of close images of a generator, by their pixels or by an extractor's features."""

import math
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from scorer.metrics.copying.aligned_images import MAX_GAIN, AlignedImages, Rows, largest_between_places, unit
from scorer.metrics.cosine import Indices
from scorer.metrics.features import Features, Vector, require_finite, require_matrix
from scorer.metrics.threads import map_parts
from scorer.progress import ProgressCallback

MAX_COMPARED = 20_000_000
"""About this many pairs are compared: those of a random part of the images with all."""
MAX_CLOSE = 1_000_000
"""After this many close pairs, no more images are compared: a collapsed generator has millions."""
_SCALE_ROWS, _ROW_WINDOWS, _COLUMNS = 64, 2592, 4096


class ImageSpace(Protocol):
    """Images as unit vectors, in random order."""

    columns: Rows

    def rows(self, part: slice) -> Rows:
        """The vectors of some images, (rows, variants, d)."""

    def largest(self, cosines: Rows) -> Rows:
        """The cosine of each pair, from those of all variants, (pairs, variants)."""


class PixelSpace:
    def __init__(self, aligned: AlignedImages, order: Indices) -> None:
        self._aligned, self._order = aligned, order
        self.columns = aligned.middles[order]

    def rows(self, part: slice) -> Rows:
        return self._aligned.windows(self._order[part])

    def largest(self, cosines: Rows) -> Rows:
        return largest_between_places(cosines)


class FeatureSpace:
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

    def variance(self, weights: Vector, rate: float) -> float:
        """The variance of the sum of the pairs' ``weights``, expected to be ``rate`` times the compared pairs.

        A jackknife over images counts the part that pairs have of their own twice.
        """
        own = float(np.square(weights).sum())
        sums = np.bincount(self.first, weights, self.images) + np.bincount(self.second, weights, self.images)
        compared = np.where(np.arange(self.images) < self.rows, self.images - 1, self.rows)
        return max(own, float(np.square(sums - rate * compared).sum()) - own)


def close_pairs(vectors: ImageSpace, limit: float, *, progress: ProgressCallback) -> ClosePairs:
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


def sample_distances(vectors: ImageSpace) -> Rows:
    """The distances between 64 images and up to 4,096."""
    return _distances(_cosines(vectors.rows(slice(0, _SCALE_ROWS)), vectors.columns[:_COLUMNS]).max(axis=1))


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
