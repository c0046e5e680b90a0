"""Pixel hashes, and what they find, upright or mirrored: copies of training images, and equal images of one zip."""

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Images = NDArray[np.uint8]
PixelHashes = NDArray[np.uint8]

HASH_BYTES = 16


@dataclass(frozen=True, eq=False, slots=True)
class TrainingImageCopies:
    """How many of n images equal a reference image pixel by pixel, or else its mirror image.

    ``exact_index`` is (n,) int64: the first reference image that is equal upright, -1 for none. An image that is both
    (its original is symmetric) only counts as exact. ``share`` is (exact + mirrored) / n.
    """

    exact: int
    mirrored: int
    share: float
    exact_index: NDArray[np.int64]


def pixel_hash(image: Images) -> bytes:
    """The 16-byte BLAKE2b hash of one image's pixels, (h, w, 3) uint8, row by row."""
    return hashlib.blake2b(np.ascontiguousarray(image).data, digest_size=HASH_BYTES).digest()


def hash_pixels(images: Images) -> PixelHashes:
    """The hash of each image of (n, h, w, 3) uint8, as (n, 16) uint8.

    These are bytes because numpy's ``S16`` drops zeros at the end. Raises ``TypeError`` for another dtype:
    the same picture as float32 would have another hash.
    """
    if images.dtype != np.uint8:
        raise TypeError(f"pixel hashes need uint8 images, not {images.dtype}")
    joined = b"".join(pixel_hash(image) for image in images)
    return np.frombuffer(joined, np.uint8).reshape(len(images), HASH_BYTES)


def mirror_images(images: NDArray[Any]) -> NDArray[Any]:
    """The images flipped left to right: a view of (n, h, w, 3), of any dtype."""
    return images[:, :, ::-1]


def find_training_image_copies(
    hashes: PixelHashes, reference_hashes: PixelHashes, mirrored_reference_hashes: PixelHashes
) -> TrainingImageCopies:
    """How many images (n hashes) equal one of m reference images, or its mirror image. The rule for copies is in
    ``docs/explanation/metrics.md#copies-without-a-score``.

    All three are (·, 16) uint8 of :func:`hash_pixels`. Ties go to the lowest reference index.
    """
    exact_index = _first_index(hashes, reference_hashes)
    is_exact = exact_index >= 0
    is_mirrored = (_first_index(hashes, mirrored_reference_hashes) >= 0) & ~is_exact
    exact, mirrored = int(is_exact.sum()), int(is_mirrored.sum())
    share = (exact + mirrored) / len(hashes) if len(hashes) else 0.0
    return TrainingImageCopies(exact, mirrored, share, exact_index)


def _first_index(hashes: PixelHashes, among: PixelHashes) -> NDArray[np.int64]:
    """The index of the first equal hash, (n,) int64, -1 for none."""
    first: dict[bytes, int] = {}
    for index, row in enumerate(_rows(among)):
        first.setdefault(row, index)
    return np.array([first.get(row, -1) for row in _rows(hashes)], dtype=np.int64)


def _rows(hashes: PixelHashes) -> list[bytes]:
    return [row.tobytes() for row in hashes]


@dataclass(frozen=True, slots=True)
class ExactDuplicates:
    """Exact duplicates of a zip, by index in canonical order."""

    groups: tuple[tuple[int, ...], ...]
    """Groups of two or more images with equal pixels: the largest first, ties to the group with the lowest index."""
    mirrored_pairs: tuple[tuple[int, int], ...]
    """Images without an equal one that mirror another image, each with the first such image."""
    count: int

    @property
    def identical(self) -> int:
        return sum(len(group) for group in self.groups)

    @property
    def mirrored(self) -> int:
        return len(self.mirrored_pairs)


def find_exact_duplicates(hashes: PixelHashes, mirrored_hashes: PixelHashes) -> ExactDuplicates:
    """Group the images of a zip by the hashes of their pixels. ``hashes`` and ``mirrored_hashes`` are (n, 16) uint8, of
    the images and of their mirror images."""
    places: dict[bytes, list[int]] = {}
    for place, row in enumerate(hashes):
        places.setdefault(row.tobytes(), []).append(place)
    groups = sorted(
        (tuple(group) for group in places.values() if len(group) > 1), key=lambda group: (-len(group), group)
    )
    mirrored_pairs = []
    for place, (row, turned) in enumerate(zip(hashes, mirrored_hashes, strict=True)):
        other = places.get(turned.tobytes(), [place])[0]
        if other != place and len(places[row.tobytes()]) == 1:
            mirrored_pairs.append((place, other))
    return ExactDuplicates(tuple(groups), tuple(mirrored_pairs), len(hashes))
