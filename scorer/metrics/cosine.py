"""Exact nearest neighbours by cosine distance: fast products make a shortlist, and exact products decide.

Rounding makes two float32 products indistinguishable if they differ by less than their error. So the products only make
a shortlist: every pair that their worst-case error cannot rule out. float64 arithmetic then decides. It gives the same
value for a pair at any position, so the answer is that of exact comparison for any block size, number of threads and
device.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scorer.metrics.features import Features, Vector, degenerate, require_matrix
from scorer.progress import ProgressCallback

Indices = NDArray[np.int64]
Shortlist = tuple[Indices, Indices, Indices]
"""Rows and columns of the pairs that may be a generated row's nearest, and the crowded rows. Crowded rows are left out
because too many columns of one tile compete for them."""

# Measured sizes: a tile of products (32 MB in float32) is large enough for the matrix product to run at full speed, and
# a segment is short enough that few products are read twice.
TILE_ROWS = 2000
TILE_COLUMNS = 4096
_SEGMENT = 512
_BELOW = -2.0  # any cosine
_CHUNK = 512  # rows widened to float64 at a time

# Lengths whose inverse and whose products stay far from overflow and underflow in either precision.
_MIN_LENGTH, _MAX_LENGTH = 1e-30, 1e30


@dataclass(frozen=True, eq=False)
class NormalisedFeatures:
    """Features (n, d), float32 or float64, with the squared length of every row, (n,) float64.

    The rows keep their original values, possibly memory-mapped, and are divided by their lengths a block at a time.
    Exact comparison must start from the features themselves, not from rounded unit vectors.
    """

    features: Features
    squares: Vector

    def __len__(self) -> int:
        return len(self.features)

    def take(self, rows: Indices) -> "NormalisedFeatures":
        return NormalisedFeatures(self.features[rows], self.squares[rows])

    def unit(self, start: int, stop: int, precision: type[np.floating[Any]]) -> Features:
        """Rows ``start`` to ``stop`` divided by their lengths, in ``precision``."""
        inverse = (1.0 / np.sqrt(self.squares[start:stop, None])).astype(precision)
        return self.features[start:stop].astype(precision, copy=False) * inverse


def normalise(features: Features, whose: str = "reference") -> NormalisedFeatures:
    """Compute the length of every row of features (n, d), float32 or float64, once.

    ``whose`` names the features in messages. Raises :class:`Invalid`: ``bad-features``, ``too-few-images``, and
    ``degenerate-features`` with all row indices in ``extra["rows"]`` where a row is zero or not finite and therefore
    has no direction.
    """
    require_matrix(features, whose)
    squares = np.empty(len(features))
    with np.errstate(over="ignore"):  # an infinite length is reported below, by row
        for start in range(0, len(features), _CHUNK):
            block = features[start : start + _CHUNK].astype(np.float64)
            squares[start : start + _CHUNK] = np.square(block).sum(axis=1)
    usable = (squares > _MIN_LENGTH**2) & (squares < _MAX_LENGTH**2)  # false for nan
    if not usable.all():
        raise degenerate(np.flatnonzero(~usable), whose, "zero or not finite")
    return NormalisedFeatures(features, squares)


@dataclass(frozen=True, eq=False)
class CosineComparison:
    """Generated rows compared with reference rows by 1 - |cos|, or by 1 - cos if ``signed``."""

    generated: NormalisedFeatures
    reference: NormalisedFeatures
    signed: bool

    def shortlist(self, precision: type[np.floating[Any]], crowd: int, done: ProgressCallback) -> Shortlist:
        """Every pair that may be a generated row's nearest, from products in ``precision``. A row is crowded if more
        than ``crowd`` columns of one tile compete for it. ``done`` is called with the finished share in (0, 1].
        """
        candidates = Candidates(len(self.generated), self.window(precision), crowd, precision=precision)
        left = self.generated.unit(0, len(self.generated), precision)
        non_negative = bool(left.min() >= 0.0)
        buffer = np.empty(TILE_ROWS * TILE_COLUMNS, precision)
        for column in range(0, len(self.reference), TILE_COLUMNS):
            right = self.reference.unit(column, column + TILE_COLUMNS, precision)
            fold = not self.signed and not (non_negative and bool(right.min() >= 0.0))
            for row in range(0, len(left), TILE_ROWS):
                tile = _products(left[row : row + TILE_ROWS], right, buffer, fold=fold)
                candidates.add_tile(tile, row, column)
                done((column + len(right) * min(1.0, (row + TILE_ROWS) / len(left))) / len(self.reference))
        return candidates.result()

    def window(self, precision: type[np.floating[Any]]) -> float:
        """How far a row's nearest neighbour can be below its highest product, both computed in ``precision``."""
        return 2.0 * error_bound(self.generated.features.shape[1], precision)

    def distances(self, rows: Indices, columns: Indices) -> Vector:
        """The distance of generated row rows[i] and reference row columns[i], float64, >= 0.

        A product and a pairwise sum give the same bits for a pair at any position. A row against itself, or against its
        multiple by a power of two, gives exactly 0.
        """
        own, other = self.generated, self.reference
        distances = np.empty(len(rows))
        for start in range(0, len(rows), _CHUNK):
            row, column = rows[start : start + _CHUNK], columns[start : start + _CHUNK]
            products = own.features[row].astype(np.float64)
            products *= other.features[column]
            cosines = products.sum(axis=1) / np.sqrt(own.squares[row] * other.squares[column])
            distances[start : start + _CHUNK] = 1.0 - (cosines if self.signed else np.abs(cosines))
        return np.maximum(distances, 0.0)


Shortlister = Callable[[CosineComparison, int, ProgressCallback], Shortlist]
"""Makes the shortlist of a comparison with float32 products, on the host (:func:`host_shortlist`) or on another device.
It takes the size of crowds and a progress callback. A device may add in any order, but must not round to fewer bits."""


def host_shortlist(comparison: CosineComparison, crowd: int, done: ProgressCallback) -> Shortlist:
    """The shortlist from float32 products on this machine's processors."""
    return comparison.shortlist(np.float32, crowd, done)


def error_bound(dimension: int, precision: type[np.floating[Any]]) -> float:
    """How far a product of two unit rows, computed in ``precision``, can be from their true cosine.

    In any order of summation the dot product errs by at most k u / (1 - k u) with k = d and u the unit roundoff
    (Higham, Accuracy and Stability, section 3.1). Eight more roundings cover making both rows unit and the comparison.
    """
    roundings = (dimension + 8) * float(np.finfo(precision).eps) / 2.0
    return roundings / (1.0 - roundings)


def _products(left: Features, right: Features, buffer: Features, *, fold: bool) -> Features:
    """Similarities of unit rows, as a tile with a whole number of segments in each row.

    ``fold`` takes absolute values, which non-negative features don't need.
    """
    width = -(-len(right) // _SEGMENT) * _SEGMENT
    tile = buffer[: len(left) * width].reshape(len(left), width)
    products = tile[:, : len(right)]
    np.matmul(left, right.T, out=products)
    if fold:
        np.abs(products, out=products)
    tile[:, len(right) :] = _BELOW
    return tile


class Candidates:
    """Collects the pairs that can still be a row's nearest, tile by tile of similarities."""

    def __init__(self, count: int, window: float, crowd: int, *, precision: type[np.floating[Any]]) -> None:
        self._best = np.full(count, _BELOW, precision)  # the highest so far; +inf for a crowded row
        self._window = window
        self._crowd = crowd
        self._pairs: list[tuple[Indices, Indices, Features]] = []

    def add_tile(self, tile: Features, row: int, column: int) -> None:
        """Add the similarities of the rows from ``row`` and the columns from ``column``.

        Only segments with a peak within the window of the row's best so far are read.
        """
        if missing := -tile.shape[1] % _SEGMENT:
            tile = np.pad(tile, ((0, 0), (0, missing)), constant_values=_BELOW)
        segments = tile.reshape(len(tile), -1, _SEGMENT)
        peaks = segments.max(axis=2)
        best = self._best[row : row + len(tile)]
        np.maximum(best, peaks.max(axis=1), out=best)
        floor = best - self._window
        where, which = np.nonzero(peaks >= floor[:, None])
        contending = segments[where, which]
        mask = contending >= floor[where, None]
        crowded = np.bincount(where, np.count_nonzero(mask, axis=1), len(tile)) > self._crowd
        best[crowded] = np.inf
        mask[crowded[where]] = False
        pair, offset = np.nonzero(mask)
        columns = column + which[pair] * _SEGMENT + offset
        self._pairs.append((row + where[pair], columns, contending[pair, offset]))

    def result(self) -> Shortlist:
        """The pairs within the window of the final best, and the crowded rows."""
        rows, columns, scores = (np.concatenate(parts) for parts in zip(*self._pairs, strict=True))
        close = scores >= self._best[rows] - self._window
        return rows[close], columns[close], np.flatnonzero(np.isinf(self._best))
