"""Near duplicates of training images by perceptual hashes, compared by relative distance.

A thumbnail loses an image that is blended into another or covered with noise, but the signs of its cosine frequencies
stay. How many bits of two hashes differ by chance depends on the images: smooth ones share their few strong frequencies
with many others. So the distance of an image is relative, as in Carlini et al. 2023:

    r = bits to the nearest training image / mean of the bits to the 50 nearest ones

Held-out images define which r is small (:mod:`scorer.metrics.copying.near_duplicates`). The distance to a training
image is the smaller of those to it and to its mirror image. An image without a hash has r = 1, which shows nothing.
"""

import numpy as np
from numpy.typing import NDArray

from scorer.errors import Invalid
from scorer.metrics.copying.near_duplicates import Originals
from scorer.metrics.copying.perceptual_hashes import PerceptualHashes, have_hashes, mirror_hashes
from scorer.progress import ProgressCallback

NEIGHBOURS = 50
_BLOCK_PAIRS = 1 << 20  # compared at a time


def hash_originals(
    hashes: PerceptualHashes, training: PerceptualHashes, *, progress: ProgressCallback | None = None
) -> Originals:
    """The nearest training image of every hash (n, 8) among (m, 8), upright or mirrored, with its relative distance.

    If fewer than 50 training images have a hash, the mean is over all that do. ``progress`` is called with the
    finished share, rising to 1.0. Raises :class:`Invalid`: ``too-few-images`` for fewer than two.
    """
    known = np.flatnonzero(have_hashes(training))
    if len(known) < 2:
        raise Invalid("too-few-images", f"{len(known)} training images have a perceptual hash; at least 2 are needed.")
    upright, mirrored = _words(training[known]), _words(mirror_hashes(training[known]))
    own, have = _words(hashes), have_hashes(hashes)
    count = min(NEIGHBOURS, len(known))
    distance, index = np.ones(len(hashes)), np.zeros(len(hashes), np.int64)
    turned = np.zeros(len(hashes), np.bool_)
    height = max(1, _BLOCK_PAIRS // len(known))
    for start in range(0, len(hashes), height):
        rows = slice(start, start + height)
        straight, flipped = _bits(own[:, rows], upright), _bits(own[:, rows], mirrored)
        bits = np.minimum(straight, flipped)
        nearest = bits.argmin(axis=1)
        picked = np.arange(len(nearest)), nearest
        mean = np.partition(bits, count - 1, axis=1)[:, :count].mean(axis=1)
        relative = bits[picked] / np.maximum(mean, 1.0)  # a mean below 1 means copies only; then the smallest is 0
        distance[rows] = np.where(have[rows], relative, 1.0)
        index[rows] = known[nearest]
        turned[rows] = (flipped[picked] < straight[picked]) & have[rows]
        if progress:
            progress(min(1.0, (start + height) / len(hashes)))
    return Originals(distance, index, turned)


def _words(hashes: PerceptualHashes) -> NDArray[np.uint64]:
    """Hashes (n, 8) as words of 64 bits, (4, n)."""
    return np.ascontiguousarray(np.ascontiguousarray(hashes).view(np.uint64).T)


def _bits(own: NDArray[np.uint64], other: NDArray[np.uint64]) -> NDArray[np.uint16]:
    """The number of bits in which each pair differs, (n, m), of words (4, n) and (4, m)."""
    bits = np.zeros((own.shape[1], other.shape[1]), np.uint16)
    for left, right in zip(own, other, strict=True):
        bits += np.bitwise_count(left[:, None] ^ right)
    return bits
