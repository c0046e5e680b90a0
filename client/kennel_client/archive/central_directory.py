"""A zip's central directory, read from an untrusted file with bounded memory and few, large reads.

The standard library's ``zipfile`` does not suffice: it reads a directory of any size and makes four small reads per
member. It does not refuse overlapping members in every supported Python version, and raises half a dozen kinds of
exceptions for a damaged file.

Layout: PKWARE, APPNOTE.TXT 6.3.10, sections 4.3.7 (local header) to 4.3.16 (end record), 4.5.3 (zip64).
"""

import re
import struct
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import BinaryIO

from kennel_client.archive.faults import faulty_members_error
from kennel_client.errors import Invalid

LOCAL_HEADER_BYTES = 30
TAIL_BYTES = 1 << 20  # one read gets the whole directory of 10,000 images with short names
MAX_COMMENT_BYTES = 0xFFFF
STORED, DEFLATED = 0, 8  # methods of compression

_ENTRY = struct.Struct("<4s6H3L5H2L")
_END = struct.Struct("<4s4H2LH")
_LOCATOR64 = struct.Struct("<4sLQL")
_END64 = struct.Struct("<4sQ2H2L4Q")
_MAX16, _MAX32 = 0xFFFF, 0xFFFFFFFF
_ZIP64, _UNICODE_PATH = 1, 0x7075  # kinds of extra fields: APPNOTE 4.5.3 and 4.6.9
_BACKSLASHES = re.compile(rb"[\x81-\xfe][\x40-\xfe]|\\")  # alone, or as one byte of a two-byte character


@dataclass(frozen=True, slots=True)
class Member:
    """One entry of the directory.

    ``offset`` is the start of its local header; ``limit`` is the start of the next member or of the directory, and the
    member must end before it. ``compressed`` and ``size`` are the declared bytes in the zip and unpacked. ``position``
    counts the directory's entries from 1. In a ``name`` with an unknown encoding, bytes other than ASCII are written as
    ``\x95``; no other name has a backslash.
    """

    name: str
    raw_name: bytes
    offset: int
    limit: int
    compressed: int
    size: int
    crc: int
    method: int
    flags: int
    position: int

    @property
    def encoding_known(self) -> bool:
        """Whether ``name`` is text. If not, names with different bytes are different, even if only in case."""
        return "\\" not in self.name

    @property
    def label(self) -> str:
        """The name in messages; with its position if the encoding is unknown."""
        return self.name if self.encoding_known else f"file {self.position:,} in the zip ({self.name})"


class Tail:
    """A seekable file that keeps its last ``TAIL_BYTES`` in memory."""

    def __init__(self, file: BinaryIO) -> None:
        self.file = file
        self.length = file.seek(0, 2)
        self.start = max(0, self.length - TAIL_BYTES)
        self.data = read_at(file, self.start, self.length - self.start)

    def read(self, offset: int, length: int) -> bytes:
        if offset >= self.start:
            return self.data[offset - self.start : offset - self.start + length]
        return read_at(self.file, offset, min(length, self.length - offset))


@dataclass(frozen=True, slots=True)
class Directory:
    """The central directory as the zip's end declares it: ``read`` returns its ``size`` bytes from ``offset``."""

    read: Callable[[int, int], bytes]
    position: int  # of the end record that declares all this
    disks: tuple[int, int]
    count: int
    size: int
    offset: int
    zip64: bool = False


def read_at(file: BinaryIO, offset: int, length: int) -> bytes:
    """``length`` bytes from ``offset``, fewer only at the end. Loops because a remote file may return parts."""
    file.seek(offset)
    parts = []
    while length > 0 and (part := file.read(length)):
        parts.append(part)
        length -= len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def find_directory(file: BinaryIO) -> Directory:
    """Find the central directory from the file's end, without reading it.

    Raises ``Invalid``: ``not-a-zip``, or ``split-zip`` for one part of a multi-volume archive.
    """
    tail = Tail(file)
    if tail.length == 0:
        raise Invalid("not-a-zip", "The file is empty, not a zip.")
    directory = _zip64_end(tail, _end(tail))
    if any(directory.disks):
        raise _split()
    if directory.offset + directory.size != directory.position:
        raise _damaged("its directory is not where its end says, as if the file had been cut or joined")
    return directory


def read_members(directory: Directory, *, max_members: int) -> list[Member]:
    """All entries of the directory, with folders and junk, in the order of the file's bytes.

    Memory grows with ``directory.size``, so bound that first. Raises ``Invalid``: ``not-a-zip`` for a damaged
    directory, ``split-zip``, ``too-many-files`` for more than ``max_members``, ``zip-bomb`` for members that share
    bytes.
    """
    data = directory.read(directory.offset, directory.size)
    members = sorted(islice(_entries(data), max_members + 1), key=lambda member: member.offset)
    if len(members) > max_members:
        raise too_many_files(max_members)
    # Zips from before zip64, and those of macOS to this day, count modulo 65,536.
    listed = len(members) if directory.zip64 else len(members) & _MAX16
    if listed != directory.count:
        raise _damaged(f"it lists {listed:,} files but declares {directory.count:,}")
    return _require_disjoint(members, directory.offset)


def too_many_files(max_members: int) -> Invalid:
    return Invalid("too-many-files", f"The zip contains more than {max_members:,} files.")


def _damaged(how: str) -> Invalid:
    return Invalid("not-a-zip", f"The zip is damaged: {how}.")


def _split() -> Invalid:
    return Invalid("split-zip", "The file is one part of a multi-volume zip; upload a single zip.")


def _end(tail: Tail) -> Directory:
    """The directory of the end record: the last record with a comment that ends exactly at the file's end."""
    data = tail.data[-(_END.size + MAX_COMMENT_BYTES) :]
    at = data.rfind(b"PK\5\6")
    while at >= 0:
        if at + _END.size <= len(data):
            _, disk, start_disk, _, count, size, offset, comment_bytes = _END.unpack_from(data, at)
            if at + _END.size + comment_bytes == len(data):
                position = tail.length - len(data) + at
                return Directory(tail.read, position, (disk, start_disk), count, size, offset)
        at = data.rfind(b"PK\5\6", 0, at)
    if extra_bytes := _bytes_after_end(tail):
        extra = f"{extra_bytes:,} extra byte{'' if extra_bytes == 1 else 's'}"
        raise Invalid("not-a-zip", f"The file has {extra} after the zip's end; remove them, or create the zip again.")
    if tail.read(0, 4) == b"PK\3\4":
        raise _damaged("its end is missing, as if the upload had been cut short")
    raise Invalid("not-a-zip", "The file is not a zip.")


def _bytes_after_end(tail: Tail) -> int:
    """How many bytes follow the tail's last end record, if that record points to a directory; else 0."""
    at = tail.data.rfind(b"PK\5\6")
    if at < 0 or at + _END.size > len(tail.data):
        return 0
    _, disk, start_disk, _, count, size, offset, comment_bytes = _END.unpack_from(tail.data, at)
    end = Directory(tail.read, tail.start + at, (disk, start_disk), count, size, offset)
    directory = _zip64_end(tail, end)
    whole = directory.offset + directory.size == directory.position
    return max(0, len(tail.data) - at - _END.size - comment_bytes) if whole else 0


def _zip64_end(tail: Tail, end: Directory) -> Directory:
    """The directory of the zip64 end record if there is one, else ``end``."""
    locator_at = end.position - _LOCATOR64.size
    locator = tail.read(locator_at, _LOCATOR64.size) if locator_at >= 0 else b""
    if not locator.startswith(b"PK\6\7"):
        return end
    _, _, at, disks = _LOCATOR64.unpack(locator)
    if disks > 1:
        raise _split()
    record = tail.read(at, _END64.size) if at + _END64.size <= locator_at else b""
    if not record.startswith(b"PK\6\6") or len(record) < _END64.size:
        raise _damaged("its zip64 end record is missing")
    _, _, _, _, disk, start_disk, _, count, size, offset = _END64.unpack(record)
    return Directory(tail.read, at, (disk, start_disk), count, size, offset, zip64=True)


def _entries(data: bytes) -> Iterator[Member]:
    """The directory's entries one by one, with ``limit`` not yet set."""
    at = position = 0
    while at < len(data):
        if len(data) - at < _ENTRY.size or data[at : at + 4] != b"PK\1\2":
            raise _damaged("its directory can't be read")
        _, _, _, flags, method, _, _, crc, *rest = _ENTRY.unpack_from(data, at)
        compressed, size, name_bytes, extra_bytes, comment_bytes, disk, _, _, offset = rest
        name_at = at + _ENTRY.size
        extra_at = name_at + name_bytes
        at = extra_at + extra_bytes + comment_bytes
        position += 1
        if at > len(data):
            raise _damaged("its directory is cut short")
        if disk not in (0, _MAX16):
            raise _split()
        raw, extra = data[name_at:extra_at], data[extra_at : extra_at + extra_bytes]
        size, compressed, offset = _widened((size, compressed, offset), extra)
        yield Member(_decoded_name(raw, extra), raw, offset, 0, compressed, size, crc, method, flags, position)


def _extra_fields(extra: bytes, kind: int) -> Iterator[bytes]:
    """The contents of all complete extra fields of a kind."""
    at = 0
    while at + 4 <= len(extra):
        found, length = struct.unpack_from("<HH", extra, at)
        at += 4 + length
        if found == kind and at <= len(extra):
            yield extra[at - length : at]


def _widened(fields: tuple[int, int, int], extra: bytes) -> tuple[int, int, int]:
    """Size, compressed size and offset, each from the zip64 extra field if it did not fit 32 bits."""
    missing = fields.count(_MAX32)
    if not missing:
        return fields
    for content in _extra_fields(extra, _ZIP64):
        if len(content) >= 8 * missing:
            wide = iter(struct.unpack_from(f"<{missing}Q", content))
            size, compressed, offset = (next(wide) if field == _MAX32 else field for field in fields)
            return size, compressed, offset
    raise _damaged("a member's zip64 sizes are missing")


def _decoded_name(raw: bytes, extra: bytes) -> str:
    """The member's name, with ``/`` between folders.

    Uses the Unicode path field if it has one for these bytes; else the bytes if they are UTF-8, because some archivers
    don't set its flag. No other encoding is guessed. Some archivers write backslashes between folders; in Shift-JIS,
    Big5 and GBK the second byte of a character can also be a backslash.
    """
    for name in (*_unicode_paths(raw, extra), raw):
        try:
            return name.decode("utf-8").replace("\\", "/")
        except UnicodeDecodeError:
            continue
    return _BACKSLASHES.sub(_separator_or_character, raw).decode("ascii", "backslashreplace")


def _unicode_paths(raw: bytes, extra: bytes) -> Iterator[bytes]:
    """The UTF-8 names in Unicode path fields (version 1) made for a member with this raw name."""
    if b"up" in extra:  # its kind, little-endian
        made_for = b"\1" + zlib.crc32(raw).to_bytes(4, "little")
        for content in _extra_fields(extra, _UNICODE_PATH):
            if content.startswith(made_for):
                yield content[len(made_for) :]


def _separator_or_character(match: re.Match[bytes]) -> bytes:
    return b"/" if match[0] == b"\\" else match[0].replace(b"\\", b"\\x5c")


def _require_disjoint(members: Sequence[Member], end: int) -> list[Member]:
    """The members (sorted by offset) with their limits; none shares a byte with another or the directory.

    With overlaps, a small zip can unpack to terabytes without nesting (D. Fifield, "A better zip bomb", WOOT 2019).
    Only the length of the local extra field is unknown here; ``limit`` restricts the reader.
    """
    limits = [member.offset for member in members[1:]] + [end]
    placed = [replace(member, limit=limit) for member, limit in zip(members, limits, strict=False)]
    faults = sorted(
        (member.label, "shares its bytes with another part of the zip")
        for member in placed
        if member.offset + LOCAL_HEADER_BYTES + len(member.raw_name) + member.compressed > member.limit
    )
    if faults:
        raise faulty_members_error("zip-bomb", "The zip's members overlap each other.", faults)
    return placed
