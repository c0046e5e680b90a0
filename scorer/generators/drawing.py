"""Drawn images: pixels from a generator's values, and the comparison of an image with the same image drawn again.

No torch: the service, ``kennel draw`` and a verification compare with the same tolerance.
"""

import hashlib

import numpy as np
from numpy.typing import NDArray

from scorer.generators.onnx_files import ValueRange

Pixels = NDArray[np.uint8]
Rows = NDArray[np.int64]
BATCH = 64
"""Latents that are drawn at a time, and the most images of a draw that are drawn again."""
MAX_LEVELS = 1
"""Grey levels by which a value may differ when it is computed again in another batch or on another processor."""
MAX_DIFFERENT = 0.01
"""The share of values that may differ by more."""
_BLOCK = 1024


def to_pixels(values: NDArray[np.float32], value_range: ValueRange) -> Pixels:
    """Images (n, 3 or 1, s, s) in [-1, 1] (``tanh``) or [0, 1] (``sigmoid``) as (n, s, s, 3) uint8: the nearest of 256
    levels, and the even one of two."""
    low, factor = (0.0, 255.0) if value_range == "sigmoid" else (-1.0, 127.5)
    levels = (values - np.float32(low)) * np.float32(factor)
    np.rint(levels, out=levels)
    np.clip(levels, 0.0, 255.0, out=levels)
    last = levels.astype(np.uint8).transpose(0, 2, 3, 1)
    return np.ascontiguousarray(np.broadcast_to(last, (*last.shape[:3], 3)))


def compare_draws(first: Pixels, second: Pixels) -> float:
    """The share of values that differ by more than ``MAX_LEVELS`` between two drawings of the same images; it must not
    exceed ``MAX_DIFFERENT``."""
    if first.shape != second.shape:
        raise ValueError(f"the drawings have the shapes {first.shape} and {second.shape}")
    different = 0
    for start in range(0, len(first), _BLOCK):
        block = slice(start, start + _BLOCK)
        distance = first[block].astype(np.int16) - second[block]
        different += int(np.count_nonzero(np.abs(distance) > MAX_LEVELS))
    return different / first.size


def pixels_sha256(images: Pixels) -> str:
    """The SHA-256 of the pixels of a draw, image by image: it does not depend on how a zip or PNG packs them."""
    return hashlib.sha256(np.ascontiguousarray(images).data).hexdigest()


def redrawn_rows(digest: bytes, count: int) -> Rows:
    """The images of a draw that are drawn again, in order: one from each of 64 parts of the draw; of a small draw, half
    as many as there are images, so that most of their neighbours are others."""
    parts = min(BATCH, max(1, count // 2))
    edges = np.arange(parts + 1) * count // parts
    numbers = np.frombuffer(hashlib.shake_256(digest + b"redrawn").digest(8 * parts), ">u8")
    return edges[:-1] + (numbers % np.diff(edges).astype(np.uint64)).astype(np.int64)


def shift_to_other_rows(rows: Rows) -> int:
    """How far to roll a batch that begins with these images, so that as few as possible return to the row of the batch
    in which they were drawn first."""
    shifts = (rows - np.arange(len(rows))) % BATCH
    return int(np.bincount(shifts, minlength=BATCH).argmin())
