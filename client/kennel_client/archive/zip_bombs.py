"""Protection from zip bombs, by the sizes and compression ratios that a central directory declares."""

from collections.abc import Sequence

from kennel_client.archive.central_directory import Member
from kennel_client.archive.faults import faulty_members_error
from kennel_client.errors import Invalid

MIN_RATIO_LIMIT = 100
DEFLATE_RATIO = 1032  # zlib.net/zlib_tech.html
MIN_PACKED_BYTES = 60
"""The chunks, checksums and Huffman codes of a PNG, however flat: 63 to 110 bytes were measured."""


def refuse_bombs(members: Sequence[Member], *, image_bytes: int) -> None:
    """Raise ``Invalid("zip-bomb")`` if members are packed more tightly than PNGs of one flat colour without any
    compression of their own, with ``image_bytes`` of pixels each."""
    limit = max(MIN_RATIO_LIMIT, image_bytes // (image_bytes // DEFLATE_RATIO + MIN_PACKED_BYTES))
    unpacked, packed = sum(m.size for m in members), sum(m.compressed for m in members)
    if unpacked > limit * packed:
        message = (
            f"The zip would unpack to more than {limit:,} times its size; images of this size don't shrink so far."
        )
        raise Invalid("zip-bomb", message)


def refuse_large_members(members: Sequence[Member], *, member_bytes: int, total_bytes: int) -> None:
    """Raise ``Invalid("zip-bomb")`` if members declare more bytes than anybody's images need."""
    sizes = [(m.label, max(m.size, m.compressed)) for m in members]
    huge = [(label, f"would take {size:,} bytes") for label, size in sizes if size > member_bytes]
    if huge:
        raise faulty_members_error("zip-bomb", f"No image here can need more than {member_bytes:,} bytes.", huge)
    unpacked = sum(m.size for m in members)
    if unpacked > total_bytes:
        message = f"The images would unpack to {unpacked:,} bytes; {total_bytes:,} are the most allowed."
        raise Invalid("zip-bomb", message)
