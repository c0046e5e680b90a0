"""Exact nearest neighbours by Euclidean distance, for every row of two sets, found in one pass over all pairs.

:mod:`scorer.metrics.pairing` makes the pass and explains why its answers are exact.
"""

from dataclasses import dataclass

import numpy as np

from scorer.metrics.cosine import Indices
from scorer.metrics.features import Features, Vector, require_matrix
from scorer.metrics.pairing import DistanceStrip, Pairing, go_through
from scorer.progress import ProgressCallback


@dataclass(frozen=True, eq=False)
class Neighbours:
    """The k nearest rows of every row, nearest first, ties to the lowest index.

    ``squares`` (n, k) float64, squared distances; ``index`` (n, k) int64.
    """

    squares: Vector
    index: Indices


class NearestRows:
    """Finds the k nearest rows of the second set of a pairing for every row of the first; k is at most its length.

    ``ranks`` (m,) of the second set decide ties in place of indices, the lowest first. Rows with a rank below 0 take no
    part.
    """

    def __init__(self, count: int, k: int, ranks: Indices | None = None) -> None:
        self.result = Neighbours(np.empty((count, k)), np.empty((count, k), np.int64))
        self._ranks = ranks

    def add(self, strip: DistanceStrip) -> None:
        k = self.result.squares.shape[1]
        self.result.squares[strip.rows], self.result.index[strip.rows] = strip.nearest(k, self._ranks)


class NearestColumns:
    """Finds the nearest row of the first set of a pairing for each of the m rows of the second: ``squares`` (m,)
    float64, ``index`` (m,) int64.

    ``ranks`` (n,) of the first set decide ties in place of indices, the lowest first. Rows with a rank below 0 take no
    part.
    """

    def __init__(self, count: int, ranks: Indices | None = None) -> None:
        self.squares = np.full(count, np.inf)
        self.index = np.full(count, -1, np.int64)
        self._ranks = ranks

    def add(self, strip: DistanceStrip) -> None:
        some = None if self._ranks is None else self._ranks[strip.rows] >= 0
        rows, columns, squares = strip.competitors(self.squares, some)
        ranks = rows if self._ranks is None else self._ranks[rows]
        order = np.lexsort((ranks, squares, columns))
        columns, first = np.unique(columns[order], return_index=True)
        best = order[first]
        # Ranks of earlier strips may be higher.
        known = self.index[columns] if self._ranks is None else self._ranks[self.index[columns]]
        tied = (squares[best] == self.squares[columns]) & (ranks[best] < known)
        better = tied | (squares[best] < self.squares[columns])
        self.squares[columns[better]] = squares[best[better]]
        self.index[columns[better]] = rows[best[better]]


def neighbours(
    own: Features,
    other: Features | None = None,
    *,
    k: int = 1,
    ranks: Indices | None = None,
    progress: ProgressCallback | None = None,
) -> Neighbours:
    """The k nearest rows of ``other`` (m, d) for every row of ``own`` (n, d); without ``other``, the k nearest other
    rows of ``own``.

    float32 or float64. ``ranks`` are those of :class:`NearestRows`. ``progress`` is called with the finished share,
    rising to 1.0. Raises :class:`Invalid`: ``too-few-images`` for fewer than k rows to choose from, and the errors of
    :class:`Pairing`.
    """
    pairing = Pairing(own, other)
    require_matrix(pairing.other, "reference" if other is not None else "given", min_rows=k + (other is None))
    rows = NearestRows(len(own), k, ranks)
    go_through(pairing, [rows], progress)
    return rows.result
