"""Images compared up to a shift, a mirror image, brightness and contrast.

Images are shrunk to 32 x 32 pixels. The window of 24 x 24 pixels in the middle of one image is compared with 162
windows of another: at each of 9 x 9 places, upright and mirrored. A window is described by the coefficients of its
discrete cosine transform (type II, orthonormal) with the lowest frequencies: 48 of the luminance Y and 8 each of the
colour differences B - Y and R - Y of JPEG. They contain little noise. Each is multiplied by the square root of its
frequency, because the lowest ones are the largest and the least particular. Without the frequency 0 and the length of
the vector u of coefficients, brightness and contrast do not count:

    distance = |u / |u| - v / |v||, the smallest of 162

0 means equal, sqrt(2) uncorrelated. Images may be shifted by an eighth of their side. Between places, a parabola in
each direction continues the cosine of two windows (:func:`largest_between_places`).
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from scorer.metrics.copying.thumbnails import Pixels, overlaps
from scorer.metrics.cosine import Indices

Rows = NDArray[np.float32]
SIDE, MAX_SHIFT = 32, 4
WINDOW, PLACES = SIDE - 2 * MAX_SHIFT, 2 * MAX_SHIFT + 1
COEFFICIENTS = (48, 8, 8)
"""Of Y, B - Y and R - Y."""
MIN_CONTRAST = 4.0
"""Grey levels: the smallest root mean square of a window's coefficients. Windows with less are flat, and flat windows
are all alike."""
MAX_GAIN = 0.03
"""The most by which a cosine between places exceeds those at places."""
_FREQUENCIES = 8
_COLOURS = np.array([[0.299, 0.587, 0.114], [-0.169, -0.331, 0.5], [0.5, -0.419, -0.081]], np.float32)
_BATCH = 250


class AlignedImages:
    """The windows of n images as unit vectors of 64 coefficients; flat windows are zeros. ``middles`` (n, 64) has those
    in the middle."""

    def __init__(self, draws: Sequence[Pixels]) -> None:
        self._draws = draws
        self._ends = np.cumsum([len(draw) for draw in draws])
        count = int(self._ends[-1])
        batches = np.split(np.arange(count), range(_BATCH, count, _BATCH))
        self.middles: Rows = np.concatenate([_chosen(self._transformed(batch, _MIDDLE))[:, 0] for batch in batches])

    @property
    def is_flat(self) -> NDArray[np.bool_]:
        flat: NDArray[np.bool_] = np.linalg.norm(self.middles, axis=1) == 0.0
        return flat

    def windows(self, rows: Indices) -> Rows:
        """All windows of some images, (rows, 162, 64)."""
        upright = _chosen(self._transformed(rows, _BASIS))
        return np.concatenate([upright, upright * _MIRRORED], axis=1)

    def _transformed(self, rows: Indices, basis: Rows) -> Rows:
        """All coefficients at the places of ``basis`` (places, 8, 32), (rows, 3, places, 8, places, 8)."""
        draw = np.searchsorted(self._ends, rows, side="right")
        starts = self._ends - [len(images) for images in self._draws]
        images = np.stack([self._draws[number][row - starts[number]] for number, row in zip(draw, rows, strict=True)])
        size = images.shape[1]
        both = (basis.reshape(-1, SIDE) @ overlaps(size, SIDE) / size).astype(np.float32)
        coefficients = both @ (images @ _COLOURS.T).transpose(0, 3, 1, 2) @ both.T
        transformed: Rows = coefficients.reshape(len(rows), 3, len(basis), _FREQUENCIES, len(basis), _FREQUENCIES)
        return transformed


def largest_between_places(cosines: Rows) -> Rows:
    """The largest cosine of each of k pairs over all shifts, from those at all places, (k, 162).

    It is the vertex of a parabola through the largest cosine and its neighbours, in each direction.
    """
    places = np.pad(cosines.reshape(-1, 2, PLACES, PLACES), ((0, 0), (0, 0), (1, 1), (1, 1)), mode="edge")
    pair, turned, row, column = (np.arange(len(cosines)), *_places_of(cosines.argmax(axis=1)))
    largest = places[pair, turned, row, column]
    gain = np.zeros_like(largest)
    for down, right in ((1, 0), (0, 1)):
        before = places[pair, turned, row - down, column - right]
        after = places[pair, turned, row + down, column + right]
        curvature = 2.0 * largest - before - after
        inside = (before < largest) & (after < largest)
        gain += np.divide(np.square(after - before), 8.0 * curvature, out=np.zeros_like(gain), where=inside)
    return largest + np.minimum(gain, MAX_GAIN)


def _places_of(number: Indices) -> tuple[Indices, Indices, Indices]:
    """Whether windows are mirrored, and their rows and columns in padded places."""
    turned, place = np.divmod(number, PLACES**2)
    row, column = np.divmod(place, PLACES)
    return turned, row + 1, column + 1


def unit(rows: Rows) -> Rows:
    """The rows (..., d), each divided by its norm; zeros stay."""
    norms = np.linalg.norm(rows, axis=-1, keepdims=True)
    divided: Rows = np.divide(rows, norms, out=np.zeros_like(rows), where=norms > 0.0)
    return divided


def _chosen(transformed: Rows) -> Rows:
    """The unit vectors (rows, places^2, 64) of all coefficients."""
    rows, colours, places = transformed.shape[:3]
    flat = transformed.transpose(0, 2, 4, 1, 3, 5).reshape(rows, places**2, colours, -1)
    chosen = [flat[:, :, colour, _ORDER[:count]] for colour, count in enumerate(COEFFICIENTS)]
    coefficients = np.concatenate(chosen, axis=2)
    is_flat = np.linalg.norm(coefficients, axis=2, keepdims=True) < MIN_CONTRAST * WINDOW
    return unit(np.where(is_flat, 0.0, coefficients * _WEIGHTS))


def _basis() -> Rows:
    """The cosines of the frequencies 0 to 7 in windows at all places of a side, (9, 8, 32)."""
    frequencies = np.arange(_FREQUENCIES)[:, None]
    cosines = np.cos(np.pi / WINDOW * frequencies * (np.arange(WINDOW) + 0.5)) * np.sqrt(2.0 / WINDOW)
    cosines[0] /= np.sqrt(2.0)
    basis = np.zeros((PLACES, _FREQUENCIES, SIDE), np.float32)
    for place in range(PLACES):
        basis[place, :, place : place + WINDOW] = cosines
    return basis


_BASIS = _basis()
_MIDDLE = _BASIS[MAX_SHIFT, None]
_SQUARES = np.add.outer(np.square(np.arange(_FREQUENCIES)), np.square(np.arange(_FREQUENCIES))).ravel()
_ORDER = np.argsort(_SQUARES, kind="stable")[1:]
"""Frequencies (k, l) as 8 k + l, the lowest first, without 0."""
_MIRRORED = np.concatenate([1.0 - 2.0 * (_ORDER[:count] % 2) for count in COEFFICIENTS]).astype(np.float32)
"""The coefficients of odd l change their sign in the mirror image."""
_WEIGHTS = np.concatenate([_SQUARES[_ORDER[:count]] ** 0.25 for count in COEFFICIENTS]).astype(np.float32)
