"""Images to features, one batch of a fixed shape at a time: what every extractor shares."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scorer.errors import Invalid

Images = NDArray[Any]
"""(n, h, w, 3), uint8 or float32 in 0..255, possibly memory-mapped and larger than memory."""
Features = NDArray[np.float32]
"""(n, d), in the order of the images."""
Progress = Callable[[float], None]
"""Hears the finished share, in 0..1."""


def in_batches(
    images: Images,
    forward: Callable[[Images], Features],
    *,
    batch_size: int,
    dimension: int,
    progress: Progress | None = None,
) -> Features:
    """Features (n, d) float32 of images (n, h, w, 3), by ``forward`` on (``batch_size``, h, w, 3).

    The last batch is filled up with black images whose features are dropped. So there is one shape only: nothing is
    compiled twice, and an image's features don't depend on how many others came with it. One batch is copied at a
    time; the features are the only thing held that grows with n.

    Raises ``Invalid``: ``wrong-images`` for another shape or type, ``degenerate-features`` naming the images (by
    index) whose features are not finite or all zero, since neither has a direction to compare (METRICS A2).
    """
    _require_images(images)
    features = np.empty((len(images), dimension), np.float32)
    batch = np.zeros((batch_size, *images.shape[1:]), images.dtype)
    degenerate: list[int] = []
    for start in range(0, len(images), batch_size):
        rows = min(batch_size, len(images) - start)
        batch[:rows] = images[start : start + rows]
        batch[rows:] = 0
        found = forward(batch)[:rows]
        features[start : start + rows] = found
        degenerate += (start + np.flatnonzero(~_has_direction(batch[:rows], found))).tolist()
        if progress is not None:
            progress((start + rows) / len(images))
    if degenerate:
        raise _degenerate(degenerate)
    return features


def _require_images(images: Images) -> None:
    if images.ndim != 4 or images.shape[3] != 3 or images.dtype not in (np.uint8, np.float32):
        raise Invalid(
            "wrong-images",
            f"Images must be (n, h, w, 3) in uint8 or float32, not {images.shape} in {images.dtype}.",
        )


def _has_direction(images: Images, features: Features) -> NDArray[np.bool_]:
    """For each image whether its features are numbers and not all zero. The pixels are looked at too, since a fused
    ReLU turns a NaN into an ordinary number."""
    known = np.isfinite(images.reshape(len(images), -1)).all(axis=1)
    return np.asarray(known & np.isfinite(features).all(axis=1) & features.any(axis=1))


def _degenerate(indices: list[int]) -> Invalid:
    listed = ", ".join(map(str, indices[:10])) + (", ..." if len(indices) > 10 else "")
    return Invalid(
        "degenerate-features",
        f"The features of {len(indices)} image(s) are zero or not finite: image {listed} (counted from 0).",
        faults=[f"image {index}: features are zero or not finite" for index in indices[:10]],
        indices=indices,
    )
