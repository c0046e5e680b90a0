"""Objections that reviewers may raise to a valid entry: repeated images, and training images among them."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PixelHash:
    """Hashes of an image's pixels and of its mirror image (left to right)."""

    upright: bytes
    mirrored: bytes


@dataclass(frozen=True, slots=True)
class Objection:
    """Images of an entry that reviewers may object to: their number, and a sentence about them."""

    name: str
    images: int
    sentence: str


def objections_to(hashes: Sequence[PixelHash], training: Sequence[PixelHash] = ()) -> list[Objection]:
    """Compare an entry's images with each other and with training images.

    An image counts in at most one of the two kinds of training images; a symmetric image does not count as a mirror
    image.
    """
    counts = Counter(pixel_hash.upright for pixel_hash in hashes)
    known = {pixel_hash.upright for pixel_hash in training}
    mirrored = {pixel_hash.mirrored for pixel_hash in training} - known
    found = (
        ("repeated-images", "repeat another image, pixel by pixel", len(hashes) - len(counts)),
        (
            "mirrored-images",
            "are mirror images of another image",
            sum(pixel_hash.mirrored != pixel_hash.upright and pixel_hash.mirrored in counts for pixel_hash in hashes),
        ),
        (
            "training-images",
            "are training images, pixel by pixel",
            sum(pixel_hash.upright in known for pixel_hash in hashes),
        ),
        (
            "mirrored-training-images",
            "are mirrored training images",
            sum(pixel_hash.upright in mirrored for pixel_hash in hashes),
        ),
    )
    return [
        Objection(name, images, f"{images:,} of {len(hashes):,} images {what}.")
        for name, what, images in found
        if images
    ]
