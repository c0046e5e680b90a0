"""Images of one zip that are the same, pixel by pixel, or one another's mirror images."""

from dataclasses import dataclass

from scorer.archive.pixel_hashes import PixelHashes


@dataclass(frozen=True, slots=True)
class ExactDuplicates:
    """Which images of a zip are another one of it, by their places in it."""

    groups: tuple[tuple[int, ...], ...]
    """Images with equal pixels, two or more: the largest group first, ties to the one that begins first."""
    mirrored_pairs: tuple[tuple[int, int], ...]
    """Images without an equal one that are the mirror image of another one, each with the first such one."""
    count: int

    @property
    def identical(self) -> int:
        """How many images have an equal one."""
        return sum(len(group) for group in self.groups)

    @property
    def mirrored(self) -> int:
        """How many images have none, and are another one's mirror image."""
        return len(self.mirrored_pairs)


def find_exact_duplicates(hashes: PixelHashes, mirrored_hashes: PixelHashes) -> ExactDuplicates:
    """Group the images of a zip by the hashes of their pixels; both are (n, 16) uint8, of the images and of their
    mirror images."""
    places: dict[bytes, list[int]] = {}
    for place, row in enumerate(hashes):
        places.setdefault(row.tobytes(), []).append(place)
    groups = sorted((tuple(group) for group in places.values() if len(group) > 1), key=lambda each: (-len(each), each))
    flipped = []
    for place, (row, turned) in enumerate(zip(hashes, mirrored_hashes, strict=True)):
        other = places.get(turned.tobytes(), [place])[0]
        if other != place and len(places[row.tobytes()]) == 1:
            flipped.append((place, other))
    return ExactDuplicates(tuple(groups), tuple(flipped), len(hashes))
