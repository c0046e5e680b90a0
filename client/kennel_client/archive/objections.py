"""What people would object to in an entry that the service takes: repeated images, and training images among them."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PixelHash:
    """Hashes of one image's pixels, and of those of its mirror image, left to right."""

    upright: bytes
    mirrored: bytes


@dataclass(frozen=True, slots=True)
class Objection:
    """So many images of an entry to which people would object, and a sentence about them."""

    name: str
    images: int
    sentence: str


def objections_to(hashes: Sequence[PixelHash], training: Sequence[PixelHash] = ()) -> list[Objection]:
    """The objections to an entry, whose images are compared with each other and with training images.

    An image is in one of the last two at most, and a symmetric one is no mirror image.
    """
    counts = Counter(each.upright for each in hashes)
    known = {each.upright for each in training}
    mirrored = {each.mirrored for each in training} - known
    found = (
        ("repeated-images", "repeat another one, pixel by pixel", len(hashes) - len(counts)),
        (
            "mirrored-images",
            "are mirror images of another one",
            sum(each.mirrored != each.upright and each.mirrored in counts for each in hashes),
        ),
        ("training-images", "are training images, pixel by pixel", sum(each.upright in known for each in hashes)),
        ("mirrored-training-images", "are mirrored training images", sum(each.upright in mirrored for each in hashes)),
    )
    return [
        Objection(name, images, f"{images:,} of {len(hashes):,} images {what}.")
        for name, what, images in found
        if images
    ]
