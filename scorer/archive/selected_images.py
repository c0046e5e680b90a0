"""A few images of a zip, by index in canonical order: for people to look at, never for measuring."""

from collections.abc import Collection
from typing import Any, BinaryIO

from numpy.typing import NDArray

from kennel_client.archive.faults import MemberError
from kennel_client.archive.listing import Listing
from kennel_client.archive.zip_reader import map_members, map_windows
from scorer.archive.decoder_pool import DecoderPool, window_shape
from scorer.archive.pixel_hashes import Images
from scorer.archive.png_decoding import decode_png
from scorer.archive.reference_image import decode_reference, round_to_uint8


def select_images(
    file: BinaryIO,
    listing: Listing,
    places: Collection[int],
    *,
    size: int,
    processes: int = 0,
    of_references: bool = False,
) -> dict[int, Images]:
    """Images of a participant's zip, or of a reference set, (size, size, 3) uint8 each, by index in ``listing``;
    missing and undecodable ones are left out. Those of a reference set are resized, and rounded to 8 bits. So
    many limited processes decode them (:mod:`scorer.archive.decoder_pool`), or with 0 threads of this one.
    """
    wanted = sorted({place for place in places if 0 <= place < len(listing.members)})
    members = [listing.members[place] for place in wanted]
    if not members:
        return {}
    if processes == 0:
        decode = decode_reference if of_references else decode_png
        decoded = list(map_members(file, members, lambda _, content: round_to_uint8(decode(content, size))))
    else:
        largest = max(member.compressed for member in members)
        shape = window_shape(size, len(members), largest, of_references=of_references)
        with DecoderPool(members, shape, _rounded) as pool:
            decoded = list(map_windows(file, members, pool.outcomes, threads=processes))
    return {wanted[index]: image for index, image in decoded if not isinstance(image, MemberError)}


def _rounded(_: int, pixels: NDArray[Any]) -> Images:
    """A copy of the pixels, which are in memory that a process may write still."""
    return round_to_uint8(pixels.copy())
