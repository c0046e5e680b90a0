"""A few images of a zip, by their places in canonical order: what people look at, never what is measured."""

from collections.abc import Callable, Collection
from typing import BinaryIO

from scorer.archive.faults import MemberError
from scorer.archive.listing import Listing
from scorer.archive.pixel_hashes import Images
from scorer.archive.png_check import decode_png
from scorer.archive.reference_image import decode_reference, round_to_uint8
from scorer.archive.zip_reader import map_members


def select_images(file: BinaryIO, listing: Listing, places: Collection[int], size: int) -> dict[int, Images]:
    """Some images of a participant's zip, (size, size, 3) uint8 each, by their places in ``listing``; what can't be
    decoded, or isn't there, is left out."""
    return _picked(file, listing, places, lambda content: decode_png(content, size))


def select_reference_images(file: BinaryIO, listing: Listing, places: Collection[int], size: int) -> dict[int, Images]:
    """Some images of a reference set likewise, through the bottleneck, rounded to 8 bits."""
    return _picked(file, listing, places, lambda content: round_to_uint8(decode_reference(content, size)))


def _picked(
    file: BinaryIO, listing: Listing, places: Collection[int], decode: Callable[[bytes], Images]
) -> dict[int, Images]:
    wanted = sorted({place for place in places if 0 <= place < len(listing.members)})
    found = map_members(file, [listing.members[place] for place in wanted], lambda _, content: decode(content))
    return {wanted[index]: image for index, image in found if not isinstance(image, MemberError)}
