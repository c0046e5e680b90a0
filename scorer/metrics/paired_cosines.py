"""Cosines of all pairs of two sets of rows, from the products that a pass over their distances makes.

A strip of :mod:`scorer.metrics.pairing` has the products of centred rows, scaled by a power of two. With X, Y the
scaled rows and C the scaled centre

    X . Y = (X - C) . (Y - C) + X . C + Y . C - C . C,   cos = X . Y / (|X| |Y|)

The last three terms and the lengths belong to single rows and are in float64. Each term is at most
(|X| + |C|) (|Y| + |C|), so the cosine errs by at most the error bound of a product times
(1 + |C| / |X|) (1 + |C| / |Y|). Users of these cosines decide what this leaves open by exact comparison.
"""

import numpy as np

from scorer.metrics.cosine import Candidates, CosineComparison, NormalisedFeatures, Shortlist, error_bound
from scorer.metrics.features import Features, Vector
from scorer.metrics.memorization import MAX_CANDIDATES
from scorer.metrics.pairing import DistanceStrip, Pairing
from scorer.progress import ProgressCallback

_MAX_ERROR = 0.01
"""Cosines with a larger possible error are unusable: rows this short compared with the centre use float64."""
_MORE_ROUNDINGS = 64
"""In addition to those of a product: the roundings of single-row terms and of unit rows in float32."""


class PairedCosines:
    """The cosines of a pairing's rows; ``own`` and ``other`` have their squared lengths."""

    def __init__(self, pairing: Pairing, own: NormalisedFeatures, other: NormalisedFeatures) -> None:
        lengths, other_lengths = (pairing.scale * np.sqrt(rows.squares) for rows in (own, other))
        along, other_along = pairing.along_centre
        centre = float(np.linalg.norm(pairing.centre)) * pairing.scale
        with np.errstate(over="ignore"):  # of rows whose error is too large
            self._along, self._inverse = along.astype(np.float32)[:, None], (1.0 / lengths).astype(np.float32)[:, None]
            self._other_inverse = (1.0 / other_lengths).astype(np.float32)
            self._rest = ((other_along - centre**2) / other_lengths).astype(np.float32)
        factor = error_bound(pairing.own.shape[1] + _MORE_ROUNDINGS, np.float32)
        self.errors: Vector = factor * (1.0 + centre / lengths) * float((1.0 + centre / other_lengths).max())
        """How far a cosine of each row of the first set can be from the true cosine, (n,)."""
        self.is_usable = self.errors < _MAX_ERROR

    def of(self, strip: DistanceStrip) -> Features:
        """The cosines of a strip's rows with all rows of the second set, (rows, m) float32; arbitrary values for
        unusable rows."""
        with np.errstate(over="ignore", invalid="ignore"):
            cosines = strip.products * np.float32(-0.5)
            cosines += self._along[strip.rows]
            cosines *= self._other_inverse
            cosines += self._rest
            cosines *= self._inverse[strip.rows]
        return np.asarray(cosines)


class CosineShortlist:
    """Finds the pairs that may be nearest by cosine distance. It is a shortlister for
    :func:`scorer.metrics.memorization.nearest` that needs no products of its own."""

    def __init__(self, cosines: PairedCosines, *, signed: bool) -> None:
        self._cosines = cosines
        self._signed = signed
        usable = cosines.is_usable
        window = 2.0 * float(cosines.errors[usable].max(initial=0.0))
        self._candidates = Candidates(len(usable), window, MAX_CANDIDATES, precision=np.float32)

    def add(self, strip: DistanceStrip) -> None:
        cosines = self._cosines.of(strip)
        if not self._signed:
            np.abs(cosines, out=cosines)
        cosines[~self._cosines.is_usable[strip.rows]] = 0.0
        self._candidates.add_tile(cosines, strip.rows.start, 0)

    def __call__(self, _comparison: CosineComparison, _crowd: int, done: ProgressCallback) -> Shortlist:
        """The shortlist, after all pairs; rows with unusable cosines count as crowded."""
        rows, columns, crowded = self._candidates.result()
        usable = self._cosines.is_usable
        done(1.0)
        return rows[usable[rows]], columns[usable[rows]], np.union1d(crowded, np.flatnonzero(~usable))
