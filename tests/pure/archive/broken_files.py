"""Valid and broken PNGs and zips, built byte by byte."""

import io
import struct
import zipfile
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Chunk = tuple[bytes, bytes]
SIGNATURE = b"\x89PNG\r\n\x1a\n"
ADAM7 = ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2))


def random_images(count: int, size: int = 8, seed: int = 0) -> NDArray[np.uint8]:
    """Random images, (count, size, size, 3) uint8. No two are equal, and none is symmetric."""
    return np.random.default_rng(seed).integers(0, 256, (count, size, size, 3), np.uint8)


def chunk(kind: bytes, content: bytes = b"") -> bytes:
    """One PNG chunk with its length and CRC."""
    return len(content).to_bytes(4, "big") + kind + content + zlib.crc32(kind + content).to_bytes(4, "big")


def header(width: int, height: int, depth: int = 8, colour: int = 2, interlace: int = 0) -> bytes:
    return chunk(b"IHDR", struct.pack(">2L5B", width, height, depth, colour, 0, 0, interlace))


def rows(pixels: NDArray[np.uint8]) -> bytes:
    """Unfiltered rows, each after its filter byte 0."""
    return b"".join(b"\0" + row.tobytes() for row in pixels)


def png(
    pixels: NDArray[np.uint8], *, before: Sequence[Chunk] = (), after: Sequence[Chunk] = (), level: int = -1
) -> bytes:
    """A valid RGB 8-bit PNG with other chunks before and after the image data. ``level`` is zlib's compression
    level."""
    height, width, _ = pixels.shape
    return build_png(header(width, height), zlib.compress(rows(pixels), level), before, after)


def build_png(
    head: bytes, data: bytes, before: Sequence[Chunk] = (), after: Sequence[Chunk] = (), end: bytes = b""
) -> bytes:
    """A PNG with the given header chunk and compressed image data."""
    chunks = [head, *(chunk(*c) for c in before), chunk(b"IDAT", data), *(chunk(*c) for c in after)]
    return SIGNATURE + b"".join(chunks) + chunk(b"IEND") + end


def interlaced_png(pixels: NDArray[np.uint8]) -> bytes:
    """An RGB 8-bit PNG in Adam7 order."""
    height, width, _ = pixels.shape
    passes = [pixels[y::dy, x::dx] for x, y, dx, dy in ADAM7]
    data = b"".join(rows(p) for p in passes if p.size)
    return build_png(header(width, height, interlace=1), zlib.compress(data))


def zipped(
    members: Iterable[tuple[str, bytes]], compression: int = zipfile.ZIP_DEFLATED, comment: bytes = b""
) -> io.BytesIO:
    """A zip written by the standard library."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as archive:
        archive.comment = comment
        for name, content in members:
            archive.writestr(zipfile.ZipInfo(name), content, compress_type=compression)
    return file


def pngs(count: int = 3, size: int = 8) -> list[tuple[str, bytes]]:
    """The members of a valid zip: 0.png, 1.png, ..."""
    return [(f"{index}.png", png(image)) for index, image in enumerate(random_images(count, size))]


@dataclass
class BrokenZipEntry:
    """A zip member with fields that can be set to wrong values. None is the correct value."""

    name: bytes
    content: bytes
    method: int = 0
    flags: int = 0
    disk: int = 0
    offset: int | None = None
    size: int | None = None
    compressed: int | None = None
    local_name: bytes | None = None
    zip64: bool = False
    extra: bytes = b""

    @property
    def packed(self) -> bytes:
        """The compressed content."""
        if self.method != zipfile.ZIP_DEFLATED:
            return self.content
        packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
        return packer.compress(self.content) + packer.flush()

    def local(self) -> bytes:
        """Local header and data."""
        name = self.name if self.local_name is None else self.local_name
        sizes = (zlib.crc32(self.content), len(self.packed), len(self.content))
        head = struct.pack("<4s5H3L2H", b"PK\3\4", 20, self.flags, self.method, 0, 33, *sizes, len(name), 0)
        return head + name + self.packed

    def central(self, offset: int) -> bytes:
        """The entry of the central directory."""
        offset = offset if self.offset is None else self.offset
        compressed = len(self.packed) if self.compressed is None else self.compressed
        size = len(self.content) if self.size is None else self.size
        extra = self.extra
        if self.zip64:
            extra += struct.pack("<HH3Q", 1, 24, size, compressed, offset)
            size = compressed = offset = 0xFFFFFFFF
        head = struct.pack(
            "<4s6H3L5H2L",
            *(b"PK\1\2", 20, 20, self.flags, self.method, 0, 33),
            *(zlib.crc32(self.content), compressed, size),
            *(len(self.name), len(extra), 0, self.disk, 0),
            *(0, offset),
        )
        return head + self.name + extra


def raw_zip(entries: Sequence[BrokenZipEntry], *, zip64: bool = False, disk: int = 0, disks: int = 1) -> io.BytesIO:
    """A zip, byte by byte. Entries with an ``offset`` are listed but not written."""
    file = io.BytesIO()
    directory = b""
    for entry in entries:
        directory += entry.central(file.tell())
        if entry.offset is None:
            file.write(entry.local())
    start = file.tell()
    file.write(directory)
    count, size = len(entries), len(directory)
    if zip64:
        end = file.tell()
        file.write(struct.pack("<4sQ2H2L4Q", b"PK\6\6", 44, 45, 45, disk, disk, count, count, size, start))
        file.write(struct.pack("<4sLQL", b"PK\6\7", 0, end, disks))
        count, size, start = 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF
    file.write(struct.pack("<4s4H2LH", b"PK\5\6", disk, disk, count, count, size, start, 0))
    return file
