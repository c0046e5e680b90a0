"""A few images of a zip, by index in canonical order: for people to see, never for measuring."""

from collections.abc import Collection
from typing import Any, BinaryIO

from numpy.typing import NDArray

from kennel_client.archive.faults import MemberError
from kennel_client.archive.listing import Listing
from scorer.archive.decoder_pool import map_pixels
from scorer.archive.pixel_hashes import Images
from scorer.archive.reference_image import round_to_uint8


def select_images(
    file: BinaryIO,
    listing: Listing,
    places: Collection[int],
    *,
    size: int,
    processes: int = 0,
    of_references: bool = False,
) -> dict[int, Images]:
    """Images of a participant's zip or of a reference set, (size, size, 3) uint8 each, by index in ``listing``. Missing
    and undecodable images are left out. Images of a reference set are resized and rounded to 8 bits. They are decoded
    by ``processes`` limited processes (:mod:`scorer.archive.decoder_pool`); with 0, in threads of this process.
    """
    wanted = sorted({place for place in places if 0 <= place < len(listing.members)})
    members = [listing.members[place] for place in wanted]
    if not members:
        return {}
    decoded = map_pixels(file, members, _rounded, size=size, processes=processes, of_references=of_references)
    return {wanted[index]: image for index, image in decoded if not isinstance(image, MemberError)}


def _rounded(_: int, pixels: NDArray[Any]) -> Images:
    """A copy of the pixels, because another process may still write to their memory."""
    return round_to_uint8(pixels.copy())
