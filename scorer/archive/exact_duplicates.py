"""Exact duplicates: images of one zip with equal pixel hashes, upright or mirrored."""

from dataclasses import dataclass

from scorer.archive.pixel_hashes import PixelHashes


@dataclass(frozen=True, slots=True)
class ExactDuplicates:
    """Exact duplicates of a zip, by index in canonical order."""

    groups: tuple[tuple[int, ...], ...]
    """Images with equal pixels, two or more: the largest group first, ties to the group with the lowest index."""
    mirrored_pairs: tuple[tuple[int, int], ...]
    """Images without an equal one that mirror another image, each with the first such image."""
    count: int

    @property
    def identical(self) -> int:
        """The number of images with an equal one."""
        return sum(len(group) for group in self.groups)

    @property
    def mirrored(self) -> int:
        """The number of images without an equal one that mirror another image."""
        return len(self.mirrored_pairs)


def find_exact_duplicates(hashes: PixelHashes, mirrored_hashes: PixelHashes) -> ExactDuplicates:
    """Group the images of a zip by the hashes of their pixels; both are (n, 16) uint8, of the images and of their
    mirror images."""
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
