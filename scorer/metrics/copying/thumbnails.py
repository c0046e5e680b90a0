"""Thumbnails of 8 x 8 pixels, for finding near duplicates that blur hides from a network's features.

Features react to sharpness: blurring moves every image far away from the real images, so an autoencoder's
reconstructions are no nearer to their originals than any other image is. A thumbnail has the layout of an image and
nothing else. Weak networks and recolouring also shift colours and reduce contrast, so thumbnails are compared without
their mean colour and contrast:

    u = (x - mean colour of x) / (contrast of x + 1 grey level),    d(x, y) = |u(x) - u(y)|

Held-out images define which distance is near (:mod:`scorer.metrics.copying.near_duplicates`). No network is needed.
"""

import numpy as np
from numpy.typing import NDArray

from scorer.errors import Invalid
from scorer.metrics.copying.near_duplicates import Originals, originals_of
from scorer.metrics.euclidean import neighbours
from scorer.metrics.features import Features, Vector
from scorer.metrics.memorization import Nearest
from scorer.progress import ProgressCallback

THUMBNAIL_SIDE = 8
CHANNELS = 3
MIN_CONTRAST = 1.0
"""One grey level: contrast below it is noise."""
_BATCH = 256

Pixels = NDArray[np.uint8] | NDArray[np.float32]


def thumbnails_of(images: Pixels, *, mirrored: bool = False, progress: ProgressCallback | None = None) -> Features:
    """Images (n, size, size, 3) uint8, or float32 in 0..255, as thumbnails (n, 192) float32, or with ``mirrored`` the
    thumbnails of their mirror images. Euclidean distances of thumbnails are root mean squares in grey levels.
    ``progress`` is called with the finished share.

    A thumbnail's pixel is the mean over its square of the image, for any size. Sums of 8-bit images are whole numbers,
    so equal images have equal thumbnails in any batch. Raises :class:`Invalid`: ``bad-images``.
    """
    require_square(images)
    size = images.shape[1]
    weights = overlaps(size, THUMBNAIL_SIDE)
    columns = weights[:, ::-1] if mirrored else weights
    thumbnails = np.empty((len(images), THUMBNAIL_SIDE * THUMBNAIL_SIDE * CHANNELS), np.float32)
    for start in range(0, len(images), _BATCH):
        batch = images[start : start + _BATCH].astype(np.float64).transpose(0, 3, 1, 2)
        sums = weights @ batch @ columns.T
        thumbnails[start : start + _BATCH] = (sums / (size * size * np.sqrt(thumbnails.shape[1]))).reshape(
            len(batch), -1
        )
        if progress:
            progress(min(1.0, (start + _BATCH) / len(images)))
    return thumbnails


def require_square(images: Pixels) -> None:
    """Raise :class:`Invalid` (``bad-images``) unless images are (n, size, size, 3), uint8 or float32."""
    is_square = images.ndim == 4 and images.shape[1] == images.shape[2] and images.shape[3] == CHANNELS
    if images.dtype not in {np.dtype(np.uint8), np.dtype(np.float32)} or not is_square:
        raise Invalid(
            "bad-images", f"Images are {images.dtype} {images.shape}; they must be square RGB, uint8 or float32."
        )


def overlaps(size: int, side: int) -> NDArray[np.float64]:
    """The part of each of ``side`` thumbnail pixels that each of ``size`` image pixels covers, (side, size), in
    1 / ``size`` of a thumbnail pixel."""
    first, own = np.arange(side)[:, None] * size, np.arange(size)[None, :] * side
    covered: NDArray[np.float64] = np.minimum(first + size, own + side) - np.maximum(first, own).astype(np.float64)
    return np.maximum(covered, 0.0)


def thumbnail_originals(
    thumbnails: Features, training: Features, mirrored: Features, *, progress: ProgressCallback | None = None
) -> Originals:
    """The nearest training image of thumbnails (n, 192), among ``training`` (m, 192) and their mirror images.
    Distances have no unit. 0 means equal up to colour and contrast; unrelated images are about 1.4 apart.

    Raises the errors of :func:`neighbours`.
    """
    own = standardise_thumbnails(thumbnails)
    upright = _nearest(own, training, (lambda share: progress(share / 2.0)) if progress else None)
    turned = _nearest(own, mirrored, (lambda share: progress((1.0 + share) / 2.0)) if progress else None)
    return originals_of(upright, turned)


def contrast_of(thumbnails: Features) -> Vector:
    """The contrast of thumbnails (n, 192): the root mean square difference of a thumbnail's pixels from its mean
    colour, in grey levels, (n,). If two images are both nearly of one colour, their similarity says little."""
    contrast: Vector = np.sqrt(np.square(_centred(thumbnails)).sum(axis=1))
    return contrast


def _centred(thumbnails: Features) -> NDArray[np.float64]:
    pixels = thumbnails.astype(np.float64).reshape(len(thumbnails), CHANNELS, THUMBNAIL_SIDE * THUMBNAIL_SIDE)
    centred: NDArray[np.float64] = (pixels - pixels.mean(axis=2, keepdims=True)).reshape(thumbnails.shape)
    return centred


def standardise_thumbnails(thumbnails: Features) -> Features:
    """Thumbnails without their mean colour, divided by their contrast; an image without contrast becomes zeros."""
    centred = _centred(thumbnails)
    return (centred / (contrast_of(thumbnails)[:, None] + MIN_CONTRAST)).astype(np.float32)


def _nearest(standardised: Features, training: Features, progress: ProgressCallback | None) -> Nearest:
    nearest = neighbours(standardised, standardise_thumbnails(training), progress=progress)
    return Nearest(np.sqrt(nearest.squares[:, 0]), nearest.index[:, 0])
