"""Protection from zip bombs, based on the sizes and compression ratios in a central directory."""

from collections.abc import Sequence

from kennel_client.archive.central_directory import Member
from kennel_client.archive.faults import faulty_members_error
from kennel_client.errors import Invalid

MIN_RATIO_LIMIT = 100
DEFLATE_RATIO = 1032  # zlib.net/zlib_tech.html
MIN_PACKED_BYTES = 60
"""The smallest chunks, checksums and Huffman codes of a flat PNG: 63 to 110 bytes were measured."""


def refuse_bombs(members: Sequence[Member], *, image_bytes: int) -> None:
    """Raise ``Invalid("zip-bomb")`` if members are packed more tightly than flat PNGs of ``image_bytes`` of pixels."""
    limit = max(MIN_RATIO_LIMIT, image_bytes // (image_bytes // DEFLATE_RATIO + MIN_PACKED_BYTES))
    unpacked, packed = sum(m.size for m in members), sum(m.compressed for m in members)
    if unpacked > limit * packed:
        message = (
            f"The zip would unpack to more than {limit:,} times its size; images of this size don't compress that far."
        )
        raise Invalid("zip-bomb", message)


def refuse_large_members(members: Sequence[Member], *, member_bytes: int, total_bytes: int) -> None:
    """Raise ``Invalid("zip-bomb")`` if members declare more bytes than any valid images need."""
    sizes = [(m.label, max(m.size, m.compressed)) for m in members]
    huge = [(label, f"would take {size:,} bytes") for label, size in sizes if size > member_bytes]
    if huge:
        raise faulty_members_error("zip-bomb", f"An image can use at most {member_bytes:,} bytes.", huge)
    unpacked = sum(m.size for m in members)
    if unpacked > total_bytes:
        message = f"The images would unpack to {unpacked:,} bytes; the limit is {total_bytes:,}."
        raise Invalid("zip-bomb", message)
