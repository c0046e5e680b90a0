"""All pairs of two sets of rows, strip by strip: squared distances bounded by matrix products, decided exactly.

    |x - y|^2 = |x|^2 + |y|^2 - 2 x . y

gives all pairs from one matrix product, but the subtraction cancels digits and leaves rounding errors. So the products
only bound every squared distance from below and above. Where the bounds leave a comparison open, the pair's own sum of
squared differences in float64 decides it. That sum is the same in either order and next to any other pairs: ties are
ties (copies make many), and results do not depend on blocks or threads.

The products of a strip are made once for all tests: one pass (:func:`go_through`) shows each strip to all of them.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from hashlib import blake2b
from operator import methodcaller
from threading import Lock
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from scorer.metrics.cosine import Indices, error_bound
from scorer.metrics.features import Features, Vector, require_finite, require_matrix, require_same_dimension
from scorer.metrics.threads import product_threads
from scorer.progress import ProgressCallback

Precision = type[np.floating[Any]]

_STRIP_ROWS, _STRIP_PAIRS = 1024, 4 << 20  # at most, of a strip: 16 MB of float32 products
_STRIPS = (
    6  # the most strips computed in one product; few rows take longer per row, and the previous six are still held
)
_CHUNK = 512  # rows widened to float64 at a time
_PAIRS = 32  # pairs decided at a time: as many as fit into the processor's nearest cache
_CROWD = 64  # average open pairs per row above which float64 bounds are cheaper than deciding every pair


class Consumer(Protocol):
    """Something that one pass computes from all pairs, one strip after another.

    The consumers of a pass run in parallel, in threads of the pass. They share nothing that they change, and never
    change a strip.
    """

    def add(self, strip: "DistanceStrip") -> None:
        """Take one strip; strips come in the order of their rows."""


def go_through(pairing: "Pairing", consumers: Sequence[Consumer], progress: ProgressCallback | None = None) -> None:
    """Show all pairs to all ``consumers`` in one pass. ``progress`` is called with the finished share, rising to 1.

    Consumers take a strip in parallel, on as many threads as products have, and all finish it before the next strip.
    An exception in a consumer ends the pass.
    """
    with ThreadPoolExecutor(product_threads()) as pool:
        for strip in pairing.strips():
            list(pool.map(methodcaller("add", strip), consumers))
            if progress:
                progress(strip.rows.stop / len(pairing.own))


class Pairing:
    """All pairs of two sets of rows, (n, d) and (m, d), float32 or float64, or all pairs of different rows of one set.

    Holds a float32 copy of the second set but never n x m numbers. Raises :class:`Invalid`: ``bad-features``,
    ``too-few-images``, ``degenerate-features``, ``dimension-mismatch``.
    """

    def __init__(self, own: Features, other: Features | None = None) -> None:
        self.is_single_set = other is None
        other = own if other is None else other
        for features, name in ((own, "generated"), (other, "reference")):
            require_matrix(features, name)
            require_finite(features, name)
        require_same_dimension(own.shape[1], other.shape[1])
        self.own = own
        self.other = other
        self.lock = Lock()
        """Held while something is made that several consumers may request at the same time."""
        self._numbered: tuple[Indices, Indices] | None = None
        # Products lose the fewest digits with a common centre and a common scale.
        self.centre = other.mean(axis=0, dtype=np.float64)
        self.scale = 1.0
        largest = max(float(np.abs(block).max()) for rows in (own, other) for block in self.placed_blocks(rows))
        if largest > 0.0:
            self.scale = float(2.0 ** -np.floor(np.log2(largest)))  # a power of two, to avoid rounding
        self.own_squares, self._other_squares = (
            np.concatenate([np.square(block).sum(axis=1) for block in self.placed_blocks(rows)])
            for rows in (own, other)
        )
        self._columns = np.concatenate([block.astype(np.float32) for block in self.placed_blocks(other)])

    def _placed(self, features: Features) -> Vector:
        return np.asarray((features - self.centre) * self.scale, np.float64)

    def placed_blocks(self, features: Features) -> Iterator[Vector]:
        """The centred and scaled rows, float64, a block at a time."""
        return (self._placed(features[start : start + _CHUNK]) for start in range(0, len(features), _CHUNK))

    @cached_property
    def along_centre(self) -> tuple[Vector, Vector]:
        """The products of the scaled rows of both sets with the scaled centre, (n,) and (m,)."""
        centre = self.centre * self.scale
        own, other = (
            np.concatenate([block @ centre for block in self.placed_blocks(rows)]) + centre @ centre
            for rows in (self.own, self.other)
        )
        return own, other

    def strips(self) -> Iterator["DistanceStrip"]:
        """All pairs, from products in float32: a few rows of the first set with all rows of the second at a time."""
        height = min(_STRIP_ROWS, max(1, _STRIP_PAIRS // len(self.other)))
        together = height * min(_STRIPS, _STRIP_ROWS // height)
        for start in range(0, len(self.own), together):
            products = self.products(slice(start, min(start + together, len(self.own))), np.float32)
            for row in range(0, len(products), height):
                some = products[row : row + height]
                yield DistanceStrip(self, slice(start + row, start + row + len(some)), some)

    def strip(self, rows: slice) -> "DistanceStrip":
        """The pairs of these rows of the first set, from products in float32."""
        return DistanceStrip(self, rows, self.products(rows, np.float32))

    def products(self, rows: slice, precision: Precision) -> Features:
        """-2 x . y of centred and scaled rows, (rows, m)."""
        left = self._placed(self.own[rows]).astype(precision) * precision(-2.0)
        products = np.empty((len(left), len(self.other)), precision)
        if precision is np.float32:
            np.matmul(left, self._columns.T, out=products)
        else:
            blocks = zip(range(0, len(self.other), _CHUNK), self.placed_blocks(self.other), strict=True)
            for start, right in blocks:
                products[:, start : start + _CHUNK] = left @ right.T
        return products

    def bounds(self, rows: slice, products: Features) -> tuple[Features, Features]:
        """Lower and upper bounds, (rows, m), on the squared distances times the squared scale.

        The product of centred rows errs by at most (d + 2) u |x| |y| (Higham, Accuracy and Stability, section 3.1), so
        the squared distance errs by (d + 2) u (|x|^2 + |y|^2). The sums add a few more roundings. Twice that also
        covers the float64 sums of squares and differences.
        """
        precision = products.dtype.type
        sums = self.own_squares[rows, None].astype(precision) + self._other_squares.astype(precision)
        dimension = self.own.shape[1]
        relative = error_bound(2 * dimension + 16, precision)
        absolute = 4.0 * dimension * float(np.finfo(precision).tiny)  # the most that underflow can lose
        upper = sums * (1.0 + relative)
        upper += products
        upper += absolute
        sums *= 1.0 - relative
        sums += products
        sums -= absolute
        return sums, upper

    def squares(self, rows: Indices, columns: Indices) -> Vector:
        """|own[rows[i]] - other[columns[i]]|^2, float64. Pairs with equal rows are computed once."""
        left, right = self._identities()
        keys = left[rows] * (len(self.own) + len(self.other)) + right[columns]
        _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
        rows, columns = rows[first], columns[first]
        squares = np.empty(len(first))
        for start in range(0, len(first), _PAIRS):
            some = slice(start, start + _PAIRS)
            difference = self.own[rows[some]].astype(np.float64)
            difference -= self.other[columns[some]]
            squares[some] = np.square(difference).sum(axis=1)
        return np.asarray(squares[inverse])

    def _identities(self) -> tuple[Indices, Indices]:
        """A number for each row, equal for rows with equal bytes: an entry may repeat one image thousands of times."""
        with self.lock:
            if self._numbered is None:
                self._numbered = self._number_rows()
            return self._numbered

    def _number_rows(self) -> tuple[Indices, Indices]:
        known: dict[bytes, int] = {}

        def numbered(features: Features) -> Indices:
            digests = (blake2b(np.ascontiguousarray(row).data, digest_size=16).digest() for row in features)
            return np.array([known.setdefault(digest, len(known)) for digest in digests], np.int64)

        own = numbered(self.own)
        return own, own if self.other is self.own else numbered(self.other)


class DistanceStrip:
    """A few rows of the first set of a pairing with all rows of the second."""

    def __init__(self, pairing: Pairing, rows: slice, products: Features) -> None:
        self.rows = rows
        self.products = products
        """-2 x . y of the pairing's centred and scaled rows, (rows, m)."""
        self._pairing = pairing
        self._precise: DistanceStrip | None = None
        # Made here, before several threads ask for them.
        self._bounds = lower, upper = pairing.bounds(rows, products)
        if pairing.is_single_set:  # no row is its own neighbour
            own = np.arange(len(lower)), np.arange(rows.start, rows.stop)
            lower[own] = upper[own] = np.inf

    def _in_float64(self) -> "DistanceStrip":
        with self._pairing.lock:
            if self._precise is None:
                products = self._pairing.products(self.rows, np.float64)
                self._precise = DistanceStrip(self._pairing, self.rows, products)
            return self._precise

    def is_crowded(self, pairs: int) -> bool:
        """Whether float64 bounds decide this number of open pairs faster."""
        return self.products.dtype == np.float32 and pairs > _CROWD * (self.rows.stop - self.rows.start)

    def nearest(self, k: int, ranks: Indices | None = None) -> tuple[Vector, Indices]:
        """Squared distance and index, (rows, k), of the k nearest columns, ties to the lowest index. With ``ranks``
        (m,), ties go to the lowest rank, and columns with a negative rank take no part."""
        lower, upper = self._bounds
        some = None if ranks is None or ranks.min() >= 0 else np.flatnonzero(ranks >= 0)
        if some is not None:
            lower, upper = lower[:, some], upper[:, some]
        # For one neighbour the minimum is the same and cheaper to compute.
        reach = np.partition(upper, k - 1, axis=1)[:, k - 1 : k] if k > 1 else upper.min(axis=1, keepdims=True)
        rows, columns = places_of(lower <= reach)
        if self.is_crowded(len(rows) - k * len(lower)):
            return self._in_float64().nearest(k, ranks)
        columns = columns if some is None else some[columns]
        squares = self._pairing.squares(rows + self.rows.start, columns)
        order = np.lexsort((columns if ranks is None else ranks[columns], squares, rows))
        chosen = order[np.searchsorted(rows, np.arange(len(lower)))[:, None] + np.arange(k)]
        return squares[chosen], columns[chosen]

    def competitors(self, squares: Vector, some: NDArray[np.bool_] | None = None) -> tuple[Indices, Indices, Vector]:
        """The pairs that may be nearest in their columns, or tied: rows of the first set, columns and squared
        distances. ``squares`` (m,) are the smallest squared distances so far; only the strip's rows in the mask
        ``some`` (rows,) take part."""
        lower, upper = self._bounds
        if some is not None:
            lower, upper = lower[some], upper[some]
        reach = np.minimum(upper.min(axis=0, initial=np.inf), squares * self._pairing.scale**2).astype(lower.dtype)
        rows, columns = places_of(lower <= np.nextafter(reach, np.inf, dtype=lower.dtype))
        if self.is_crowded(len(rows)):
            return self._in_float64().competitors(squares, some)
        rows = self.rows.start + (rows if some is None else np.flatnonzero(some)[rows])
        return rows, columns, self._pairing.squares(rows, columns)

    def within(self, limits: Vector, *, strict: bool) -> NDArray[np.bool_]:
        """Whether each squared distance is at most its limit, or below it if ``strict``; (rows, m).

        ``limits`` float64, (rows, 1) or (1, m).
        """
        lower, upper = self._bounds
        least, most = _around(limits * self._pairing.scale**2, lower.dtype.type)
        inside = upper < least
        rows, columns = places_of(~(inside | (lower > most)))
        if self.is_crowded(len(rows)):
            return self._in_float64().within(limits, strict=strict)
        squares = self._pairing.squares(rows + self.rows.start, columns)
        limit = np.broadcast_to(limits, inside.shape)[rows, columns]
        inside[rows, columns] = squares < limit if strict else squares <= limit
        return inside


def places_of(mask: NDArray[np.bool_]) -> tuple[Indices, Indices]:
    """Rows and columns where the mask (a, b) is true, in order. Takes a third of the time of ``nonzero``."""
    rows, columns = np.divmod(np.flatnonzero(mask), mask.shape[1])
    return rows, columns


def _around(values: Vector, precision: Precision) -> tuple[Features, Features]:
    """The nearest numbers of a precision that are not above the values, and those that are not below."""
    with np.errstate(over="ignore"):  # infinite values, with the largest finite number next to them
        near = values.astype(precision)
    least = np.where(near > values, np.nextafter(near, precision(-np.inf)), near)
    most = np.where(near < values, np.nextafter(near, precision(np.inf)), near)
    return least, most
