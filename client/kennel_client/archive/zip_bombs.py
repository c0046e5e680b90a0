"""Protection from zip bombs, by the sizes and compression ratios that a central directory declares."""

from collections.abc import Sequence

from kennel_client.archive.central_directory import Member
from kennel_client.archive.faults import faulty_members_error
from kennel_client.errors import Invalid

# An honest zip of PNGs hardly shrinks; even PNGs of one flat colour, 64 x 64, written without any compression
# of their own, shrink to an 80th (measured).
MAX_RATIO = 100


def refuse_bombs(members: Sequence[Member], *, member_bytes: int, total_bytes: int) -> None:
    """Raise ``Invalid("zip-bomb")`` if members declare more bytes than honest images can need."""
    sizes = [(m.name, max(m.size, m.compressed)) for m in members]
    huge = [(name, f"would take {size:,} bytes") for name, size in sizes if size > member_bytes]
    if huge:
        raise faulty_members_error("zip-bomb", f"No image here can need more than {member_bytes:,} bytes.", huge)
    unpacked, packed = sum(m.size for m in members), sum(m.compressed for m in members)
    if unpacked > total_bytes:
        message = f"The images would unpack to {unpacked:,} bytes; {total_bytes:,} are the most allowed."
        raise Invalid("zip-bomb", message)
    if unpacked > MAX_RATIO * packed:
        message = f"The zip would unpack to more than {MAX_RATIO} times its size; images hardly shrink in a zip."
        raise Invalid("zip-bomb", message)
