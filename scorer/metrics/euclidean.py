"""Exact Euclidean nearest neighbours, bounded by matrix products and decided by exact differences.

    |x - y|^2 = |x|^2 + |y|^2 - 2 x . y

gives all pairs from one matrix product, but the subtraction cancels and leaves its rounding behind. So the
products only bound every squared distance from below and from above, and where the bounds leave a
comparison open, the pair's own sum of squared differences in float64 decides it. That sum is the same in
either order and in any company: ties are ties (copies make many), and results depend neither on blocks
nor on threads.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scorer.errors import Invalid
from scorer.metrics.cosine import Indices, error_bound
from scorer.metrics.features import Features, Vector, require_finite, require_matrix, require_same_dimension

Precision = type[np.floating[Any]]

_STRIP_ROWS, _STRIP_PAIRS = 1024, 4 << 20  # at most, at a time: 16 MB of float32 products
_CHUNK = 512  # rows or pairs widened to float64 at a time
_CROWD = 64  # open pairs a row, on average, above which float64 bounds cost less than deciding every pair


@dataclass(frozen=True, eq=False)
class Neighbours:
    """The k nearest rows of every row, nearest first, ties to the lowest index.

    ``squares`` (n, k) float64, squared distances; ``index`` (n, k) int64.
    """

    squares: Vector
    index: Indices


def neighbours(
    own: Features, other: Features | None = None, *, k: int = 1, progress: Callable[[float], None] | None = None
) -> Neighbours:
    """The k nearest rows of ``other`` (m, d), or of ``own`` (n, d) without itself, for every row of ``own``.

    float32 or float64. ``progress`` is called with the finished share, rising to 1.0. Raises :class:`Invalid`:
    ``bad-count`` for k < 1, ``too-few-images`` for fewer than k rows to choose from, and as
    :class:`Pairing` does.
    """
    return _nearest_in(_pairing_for(own, other, k), k, progress)


@dataclass(frozen=True, eq=False)
class MutualNeighbours:
    """The nearest rows of two sets to each other.

    ``own``: of every row of the first set, the k nearest rows of the second. ``squares`` (m,) float64: the squared
    distance of every row of the second set to the nearest row of the first.
    """

    own: Neighbours
    squares: Vector


def mutual_neighbours(
    own: Features, other: Features, *, k: int = 1, progress: Callable[[float], None] | None = None
) -> MutualNeighbours:
    """The nearest rows of ``own`` (n, d) and ``other`` (m, d) to each other, by one pass over all pairs.

    float32 or float64. ``progress`` is called with the finished share, rising to 1.0. Raises :class:`Invalid` as
    :func:`neighbours` does.
    """
    pairing = _pairing_for(own, other, k)
    nearest = np.full(len(other), np.inf)
    return MutualNeighbours(_nearest_in(pairing, k, progress, nearest), nearest)


def _pairing_for(own: Features, other: Features | None, k: int) -> "Pairing":
    pairing = Pairing(own, other)
    if k < 1:
        raise Invalid("bad-count", f"The number of neighbours must be at least 1, not {k}.")
    require_matrix(pairing.other, "reference" if other is not None else "given", min_rows=k + (other is None))
    return pairing


def _nearest_in(
    pairing: "Pairing", k: int, progress: Callable[[float], None] | None, columns: Vector | None = None
) -> Neighbours:
    """The k nearest of every row; the least squares of every column are written into ``columns`` (m,), if given."""
    count = len(pairing.own)
    squares = np.empty((count, k))
    index = np.empty((count, k), np.int64)
    for strip in pairing.strips():
        squares[strip.rows], index[strip.rows] = strip.nearest(k)
        if columns is not None:
            strip.lower_to_minima(columns)
        if progress:
            progress(strip.rows.stop / count)
    return Neighbours(squares, index)


class Pairing:
    """All pairs of two sets of rows, (n, d) and (m, d), float32 or float64, or of one set's different rows.

    Holds a float32 copy of the second set; n x m numbers are never held. Raises :class:`Invalid`:
    ``bad-features``, ``too-few-images``, ``degenerate-features``, ``dimension-mismatch``.
    """

    def __init__(self, own: Features, other: Features | None = None) -> None:
        self.is_single_set = other is None
        other = own if other is None else other
        for features, whose in ((own, "generated"), (other, "reference")):
            require_matrix(features, whose)
            require_finite(features, whose)
        require_same_dimension(own.shape[1], other.shape[1])
        self.own = own
        self.other = other
        # About a common centre and at a common scale the products lose fewest digits.
        self._centre = other.mean(axis=0, dtype=np.float64)
        self.scale = 1.0
        largest = max(float(np.abs(block).max()) for each in (own, other) for block in self._blocks(each))
        if largest > 0.0:
            self.scale = float(2.0 ** -np.floor(np.log2(largest)))  # a power of two, so nothing is rounded
        self._own_squares, self._other_squares = (
            np.concatenate([np.square(block).sum(axis=1) for block in self._blocks(each)]) for each in (own, other)
        )
        self._columns = np.concatenate([block.astype(np.float32) for block in self._blocks(other)])

    def _placed(self, features: Features) -> Vector:
        """The rows centred and scaled, float64."""
        return np.asarray((features - self._centre) * self.scale, np.float64)

    def _blocks(self, features: Features) -> Iterator[Vector]:
        return (self._placed(features[start : start + _CHUNK]) for start in range(0, len(features), _CHUNK))

    def strips(self) -> Iterator["DistanceStrip"]:
        """All pairs, some rows of the first set with all rows of the second at a time."""
        height = min(_STRIP_ROWS, max(1, _STRIP_PAIRS // len(self.other)))
        for start in range(0, len(self.own), height):
            yield DistanceStrip(self, slice(start, min(start + height, len(self.own))), np.float32)

    def bounds(self, rows: slice, precision: Precision) -> tuple[Features, Features]:
        """Lower and upper bounds, (rows, m), on the squared distances times the squared scale.

        The product of centred rows errs by at most (d + 2) u |x| |y| (Higham, Accuracy and Stability,
        section 3.1), hence the squared distance by (d + 2) u (|x|^2 + |y|^2); a few more roundings come
        from the sums. Twice that covers the float64 sums of squares and differences too.
        """
        left = self._placed(self.own[rows]).astype(precision, copy=False)
        products = np.empty((len(left), len(self.other)), precision)
        if precision is np.float32:
            np.matmul(left, self._columns.T, out=products)
        else:
            for start, right in zip(range(0, len(self.other), _CHUNK), self._blocks(self.other), strict=True):
                products[:, start : start + _CHUNK] = left @ right.T
        products *= -2.0
        sums = self._own_squares[rows, None].astype(precision) + self._other_squares.astype(precision)
        dimension = self.own.shape[1]
        relative = error_bound(2 * dimension + 16, precision)
        absolute = 4.0 * dimension * float(np.finfo(precision).tiny)  # what underflow may have taken
        upper = sums * (1.0 + relative)
        upper += products
        upper += absolute
        sums *= 1.0 - relative
        sums += products
        sums -= absolute
        return sums, upper

    def squares(self, rows: Indices, columns: Indices) -> Vector:
        """|own[rows[i]] - other[columns[i]]|^2, float64; equal pairs of rows are computed once."""
        left, right = self._identities
        keys = left[rows] * (len(self.own) + len(self.other)) + right[columns]
        _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
        rows, columns = rows[first], columns[first]
        squares = np.empty(len(first))
        for start in range(0, len(first), _CHUNK):
            some = slice(start, start + _CHUNK)
            difference = self.own[rows[some]].astype(np.float64)
            difference -= self.other[columns[some]]
            squares[some] = np.square(difference).sum(axis=1)
        return np.asarray(squares[inverse])

    @cached_property
    def _identities(self) -> tuple[Indices, Indices]:
        """A number for each row, equal for equal bytes: an entry may repeat one image thousands of times."""
        known: dict[bytes, int] = {}

        def numbered(features: Features) -> Indices:
            digests = (blake2b(np.ascontiguousarray(row).data, digest_size=16).digest() for row in features)
            return np.array([known.setdefault(digest, len(known)) for digest in digests], np.int64)

        own = numbered(self.own)
        return own, own if self.other is self.own else numbered(self.other)


class DistanceStrip:
    """Some rows of the first set of a pairing with all rows of the second."""

    def __init__(self, pairing: Pairing, rows: slice, precision: Precision) -> None:
        self.rows = rows
        self._pairing = pairing
        self._precision = precision

    @cached_property
    def _bounds(self) -> tuple[Features, Features]:
        lower, upper = self._pairing.bounds(self.rows, self._precision)
        if self._pairing.is_single_set:  # no row is its own neighbour
            own = np.arange(len(lower)), np.arange(self.rows.start, self.rows.stop)
            lower[own] = upper[own] = np.inf
        return lower, upper

    @cached_property
    def _in_float64(self) -> "DistanceStrip":
        return DistanceStrip(self._pairing, self.rows, np.float64)

    def _is_crowded(self, pairs: int) -> bool:
        """Whether so many open pairs are decided faster by bounds in float64."""
        return self._precision is np.float32 and pairs > _CROWD * (self.rows.stop - self.rows.start)

    def nearest(self, k: int) -> tuple[Vector, Indices]:
        """Squared distance and index, (rows, k), of the k nearest; see :class:`Neighbours`."""
        lower, upper = self._bounds
        # For one neighbour the minimum is the same and cheaper.
        reach = np.partition(upper, k - 1, axis=1)[:, k - 1 : k] if k > 1 else upper.min(axis=1, keepdims=True)
        rows, columns = np.nonzero(lower <= reach)
        if self._is_crowded(len(rows) - k * len(lower)):
            return self._in_float64.nearest(k)
        squares = self._pairing.squares(rows + self.rows.start, columns)
        order = np.lexsort((columns, squares, rows))
        chosen = order[np.searchsorted(rows, np.arange(len(lower)))[:, None] + np.arange(k)]
        return squares[chosen], columns[chosen]

    def lower_to_minima(self, squares: Vector) -> None:
        """Lower each of ``squares`` (m,) to the least squared distance of its column, where that is smaller."""
        lower, upper = self._bounds
        reach = np.minimum(upper.min(axis=0), squares * self._pairing.scale**2).astype(lower.dtype)
        rows, columns = np.nonzero(lower <= np.nextafter(reach, np.inf, dtype=lower.dtype))
        if self._is_crowded(len(rows)):
            self._in_float64.lower_to_minima(squares)
            return
        np.minimum.at(squares, columns, self._pairing.squares(rows + self.rows.start, columns))

    def within(self, limits: Vector, *, strict: bool) -> NDArray[np.bool_]:
        """Whether each squared distance is at most its limit, or below it where ``strict``; (rows, m).

        ``limits`` float64, (rows, 1) or (1, m).
        """
        lower, upper = self._bounds
        scaled = limits * self._pairing.scale**2
        inside = upper < scaled
        rows, columns = np.nonzero(~(inside | (lower > scaled)))
        if self._is_crowded(len(rows)):
            return self._in_float64.within(limits, strict=strict)
        squares = self._pairing.squares(rows + self.rows.start, columns)
        limit = np.broadcast_to(limits, inside.shape)[rows, columns]
        inside[rows, columns] = squares < limit if strict else squares <= limit
        return inside
