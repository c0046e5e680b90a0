"""A few images of a zip, by index in canonical order: for people to look at, never for measuring."""

from collections.abc import Callable, Collection
from typing import BinaryIO

from kennel_client.archive.faults import MemberError
from kennel_client.archive.listing import Listing
from kennel_client.archive.zip_reader import map_members
from scorer.archive.pixel_hashes import Images
from scorer.archive.png_decoding import decode_png
from scorer.archive.reference_image import decode_reference, round_to_uint8


def select_images(file: BinaryIO, listing: Listing, places: Collection[int], size: int) -> dict[int, Images]:
    """Images of a participant's zip, (size, size, 3) uint8 each, by index in ``listing``; missing and undecodable ones
    are left out.
    """
    return _select(file, listing, places, lambda content: decode_png(content, size))


def select_reference_images(file: BinaryIO, listing: Listing, places: Collection[int], size: int) -> dict[int, Images]:
    """Images of a reference set likewise, resized to the competition's size and rounded to 8 bits."""
    return _select(file, listing, places, lambda content: round_to_uint8(decode_reference(content, size)))


def _select(
    file: BinaryIO, listing: Listing, places: Collection[int], decode: Callable[[bytes], Images]
) -> dict[int, Images]:
    wanted = sorted({place for place in places if 0 <= place < len(listing.members)})
    decoded = map_members(file, [listing.members[place] for place in wanted], lambda _, content: decode(content))
    return {wanted[index]: image for index, image in decoded if not isinstance(image, MemberError)}
