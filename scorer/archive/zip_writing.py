"""Zips written by Kennel. In zips of images, the same images give the same bytes and the same hash. Streamed zips are
never stored: the bytes between their files are computed from names, sizes and CRCs.

Members of a streamed zip are stored uncompressed, in ZIP64 (APPNOTE 4.3 and 4.5.3). So every byte of the zip is a byte
of a file or of a header, for any size, and any range of the zip can be sent alone.
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import BinaryIO

from kennel_client.archive.zip_writing import write_members
from scorer.archive.pixel_hashes import Images
from scorer.archive.png_pixels import encode_png


def write_images(images: Images, destination: BinaryIO, names: Sequence[str] | None = None) -> None:
    """Write (n, h, w, 3) uint8 images as a zip of RGB PNGs, members in the order of the images.

    Without ``names`` they are ``00000.png`` and so on, so the canonical order is that of the images.
    ``destination`` must be seekable. The same images, names and Pillow give the same bytes.
    Raises ``ValueError`` unless there are as many different names as images.
    """
    digits = max(5, len(str(len(images) - 1)))
    names = [f"{index:0{digits}}.png" for index in range(len(images))] if names is None else names
    if len(names) != len(images) or len(set(names)) != len(names):
        raise ValueError(f"{len(images)} images need as many different names, not {len(set(names))}")
    write_members(destination, ((name, encode_png(image)) for name, image in zip(names, images, strict=True)))


VERSION = 45  # the version of the format that has ZIP64
UTF8 = 0x0800
SIZE_IN_EXTRA_FIELD = 0xFFFFFFFF
"""Marks a size that is in the extra field."""


@dataclass(frozen=True)
class ZipEntry:
    """A file's name, size, CRC and time, from which its headers are made."""

    name: str
    bytes: int
    crc32: int
    modified: datetime


def zip_headers(files: Sequence[ZipEntry]) -> list[bytes]:
    """The headers before each file, and the directory after the last file: ``len(files) + 1`` pieces."""
    pieces = []
    directory = b""
    offset = 0
    for file in files:
        header = _local(file)
        directory += _central(file, offset)
        offset += len(header) + file.bytes
        pieces.append(header)
    return [*pieces, directory + _end(len(files), len(directory), offset)]


def _dos(moment: datetime) -> tuple[int, int]:
    """A time as zips store it: to two seconds, without a time zone."""
    date = (moment.year - 1980) << 9 | moment.month << 5 | moment.day
    return moment.hour << 11 | moment.minute << 5 | moment.second // 2, date


def _local(file: ZipEntry) -> bytes:
    name = file.name.encode()
    time, date = _dos(file.modified)
    extra = struct.pack("<HHQQ", 1, 16, file.bytes, file.bytes)
    numbers = (
        VERSION,
        UTF8,
        0,
        time,
        date,
        file.crc32,
        SIZE_IN_EXTRA_FIELD,
        SIZE_IN_EXTRA_FIELD,
        len(name),
        len(extra),
    )
    return struct.pack("<4s5H3L2H", b"PK\3\4", *numbers) + name + extra


def _central(file: ZipEntry, offset: int) -> bytes:
    name = file.name.encode()
    time, date = _dos(file.modified)
    extra = struct.pack("<HHQQQ", 1, 24, file.bytes, file.bytes, offset)
    sizes = (file.crc32, SIZE_IN_EXTRA_FIELD, SIZE_IN_EXTRA_FIELD, len(name), len(extra))
    numbers = (VERSION, VERSION, UTF8, 0, time, date, *sizes, 0, 0, 0, 0, SIZE_IN_EXTRA_FIELD)
    return struct.pack("<4s6H3L5H2L", b"PK\1\2", *numbers) + name + extra


def _end(count: int, size: int, offset: int) -> bytes:
    whole = struct.pack("<4sQ2H2L4Q", b"PK\6\6", 44, VERSION, VERSION, 0, 0, count, count, size, offset)
    where = struct.pack("<4sLQL", b"PK\6\7", 0, offset + size, 1)
    return (
        whole
        + where
        + struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 0xFFFF, 0xFFFF, SIZE_IN_EXTRA_FIELD, SIZE_IN_EXTRA_FIELD, 0)
    )
