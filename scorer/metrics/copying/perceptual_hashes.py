"""Perceptual hashes: 256 bits per image. Few change when the image is compressed, resized or recoloured.

The bits are the signs of coefficients of the discrete cosine transform (type II) of the luminance Y of an image of
n x n pixels. The frequencies k down and l across run from 1 to 16, as in PDQ (Davis and Rosen 2019):

    c(k, l) = 2/n sum_ij Y(i, j) cos(pi k (i + 1/2) / n) cos(pi l (j + 1/2) / n),    bit (k, l) = [c(k, l) > 0]

PDQ compares with the median, which is near 0. With 0, the hash of the mirror image is that of the image with the bits
of odd l inverted, so it need not be stored (:func:`mirror_hashes`). Brightness and contrast change no bit. The bits are
in the order of their frequencies, the lowest in the first of eight words. Noise and compression change the signs of
small coefficients, which belong to high frequencies, and leave whole words unchanged.

Hashes of unrelated images differ in about 128 bits. An image without detail, or with fewer than :data:`MIN_SIDE` pixels
a side, has no hash: all bits are 0.
"""

import numpy as np
from numpy.typing import NDArray

from scorer.metrics.copying.thumbnails import Pixels, require_square

PerceptualHashes = NDArray[np.uint32]
"""(n, 8): eight words of 32 bits per image."""
WORDS, WORD_BITS = 8, 32
BITS = WORDS * WORD_BITS
MIN_SIDE = 32
MIN_DETAIL = 1.0
"""The minimum root mean square of all coefficients over the image, in grey levels: less is noise."""
_FREQUENCIES = 16
_LUMINANCE = np.array([0.299, 0.587, 0.114])
_BATCH = 256


def perceptual_hashes(images: Pixels) -> PerceptualHashes:
    """The hashes (n, 8) uint32 of images (n, size, size, 3), uint8 or float32 in 0..255.

    Raises :class:`Invalid`: ``bad-images``.
    """
    require_square(images)
    hashes = np.zeros((len(images), WORDS), np.uint32)
    if images.shape[1] < MIN_SIDE:
        return hashes
    basis = _basis(images.shape[1])
    for start in range(0, len(images), _BATCH):
        luminance = images[start : start + _BATCH] @ _LUMINANCE
        coefficients = (basis @ luminance @ basis.T).reshape(len(luminance), BITS)[:, _ORDER]
        hashes[start : start + _BATCH] = _packed(coefficients > 0.0)
        detail = np.sqrt(np.square(coefficients).sum(axis=1)) / images.shape[1]
        hashes[start : start + _BATCH][detail < MIN_DETAIL] = 0
    return hashes


def mirror_hashes(hashes: PerceptualHashes) -> PerceptualHashes:
    """The hashes (n, 8) of the mirror images; missing hashes stay 0."""
    return np.where(have_hashes(hashes)[:, None], hashes ^ _MIRRORED_BITS, hashes)


def have_hashes(hashes: PerceptualHashes) -> NDArray[np.bool_]:
    """Whether each image has a hash, (n,)."""
    present: NDArray[np.bool_] = np.any(hashes, axis=1)
    return present


def hamming_distances(hashes: PerceptualHashes, others: PerceptualHashes) -> NDArray[np.int64]:
    """The number of bits in which two arrays of hashes (..., 8) differ, pair by pair, with broadcasting."""
    distances: NDArray[np.int64] = np.bitwise_count(hashes ^ others).sum(axis=-1, dtype=np.int64)
    return distances


def _basis(size: int) -> NDArray[np.float64]:
    """Orthonormal cosines of the frequencies 1 to 16, (16, size)."""
    frequencies = np.arange(1, _FREQUENCIES + 1)[:, None]
    basis: NDArray[np.float64] = np.sqrt(2.0 / size) * np.cos(np.pi / size * frequencies * (np.arange(size) + 0.5))
    return basis


def _packed(bits: NDArray[np.bool_]) -> PerceptualHashes:
    """Bits (n, 256) as words (n, 8): bit i of a word is its i-th."""
    packed = np.ascontiguousarray(np.packbits(bits, axis=1, bitorder="little"))
    return packed.view("<u4").astype(np.uint32, copy=False)


def _order() -> NDArray[np.int64]:
    """The indices of the coefficients, counted row by row, from the lowest frequency k^2 + l^2 to the highest."""
    squares = np.square(np.arange(1, _FREQUENCIES + 1))
    return np.argsort((squares[:, None] + squares).ravel(), kind="stable")


_ORDER = _order()
_MIRRORED_BITS = _packed((_ORDER % _FREQUENCIES % 2 == 0)[None])[0]
"""The bits of odd l: their coefficients change sign in the mirror image."""
