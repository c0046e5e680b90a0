"""A strict check of a PNG without decoding its pixels: RGB, 8 bits, the specified size, the length of its image data,
and no chunk that changes what a viewer shows.

Parses chunks only as far as needed. The decoder gets only the header and the image data, so that no other chunk can
change or slow the decoding or use memory.

Specification: W3C, Portable Network Graphics (Third Edition), 2025.
"""

import struct
import zlib
from collections.abc import Iterator

from kennel_client.archive.faults import MemberError

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_IHDR = struct.Struct(">2L5B")
_OTHER_FORMATS = ((b"\xff\xd8\xff", "a JPEG"), (b"GIF8", "a GIF"), (b"RIFF", "a WebP"), (b"BM", "a BMP"))
_COLOURS = {
    0: "is greyscale, not RGB",
    2: None,
    3: "has a palette and is not RGB",
    4: "is greyscale with an alpha channel, not RGB",
    6: "has an alpha channel and is not RGB",
}
_REFUSED = {
    b"tRNS": "has a transparent colour (tRNS)",
    b"acTL": "is animated (acTL)",
    b"fcTL": "is animated (fcTL)",
    b"fdAT": "is animated (fdAT)",
    b"iCCP": "has a colour profile (iCCP), which changes the colours that a viewer shows",
    b"eXIf": "has EXIF data (eXIf), which can rotate the image in a viewer",
}
# Allowed with the default values: gamma 1/2.2 and sRGB.
_ASSUMED = {
    b"gAMA": (
        {struct.pack(">L", gamma) for gamma in (45454, 45455)},
        "has a gamma (gAMA) other than 1/2.2, which changes the colours that a viewer shows",
    ),
    b"cICP": (
        {bytes((1, 13, 0, 1))},
        "has a colour space (cICP) other than sRGB, which changes the colours that a viewer shows",
    ),
}
# Interlacing (section 8.1): first column and row of each pass, and the steps between its columns and rows.
_PASSES = ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2))


def bare_png(png: bytes, size: int) -> bytes:
    """Reduce an RGB 8-bit PNG of ``size`` x ``size`` to its header and image data, without decoding pixels.

    Text, time, resolution, sRGB, chromaticities and other chunks that don't change pixels are ignored, and so are bytes
    after IEND, where every viewer stops. Interlacing is allowed. Raises ``MemberError`` for anything else; checks the
    size before it unpacks any pixel.
    """
    header, parts = _critical(png, size)
    data = b"".join(parts)
    _refuse_wrong_length(data, size, interlaced=header[12] == 1)
    return b"".join([_SIGNATURE, _chunk(b"IHDR", header), _chunk(b"IDAT", data), _chunk(b"IEND", b"")])


def _critical(png: bytes, size: int) -> tuple[bytes, list[bytes]]:
    """Content of the header chunk and of each data chunk; checks every other chunk."""
    if not png.startswith(_SIGNATURE):
        actual = next((f": it is {name}" for magic, name in _OTHER_FORMATS if png.startswith(magic)), "")
        raise MemberError(f"is not a PNG file{actual}")
    header = b""
    previous = b""
    data = list[bytes]()
    for kind, content in _chunks(png):
        if kind == b"IHDR" and not previous:
            _refuse_header(content, size)
            header = content
        elif not header or kind == b"IHDR":
            raise MemberError("is damaged: its header is not the first chunk")
        elif kind == b"IDAT":
            if data and previous != b"IDAT":
                raise MemberError("is damaged: its image data is interrupted")
            data.append(content)
        else:
            _refuse_chunk(kind, content)
        previous = kind
    return header, data


def _chunks(png: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Kind and content of each chunk up to IEND, with the CRC checked (section 5.3)."""
    at = len(_SIGNATURE)
    kind = b""
    while kind != b"IEND":
        start = at + 8
        stop = start + int.from_bytes(png[at : at + 4], "big")
        if start > len(png) or stop + 4 > len(png):
            raise MemberError("is cut short")
        kind = png[at + 4 : start]
        if zlib.crc32(png[at + 4 : stop]) != int.from_bytes(png[stop : stop + 4], "big"):
            raise MemberError(f"is damaged: a wrong checksum in its {_printable(kind)} chunk")
        yield kind, png[start:stop]
        at = stop + 4


def _printable(kind: bytes) -> str:
    return kind.decode("ascii") if kind.isalpha() else "unreadable"


def _refuse_header(header: bytes, size: int) -> None:
    """Raise ``MemberError`` unless the header (section 11.2.1) is for an RGB 8-bit image of the size."""
    if len(header) != _IHDR.size:
        raise MemberError("is damaged: its header has a wrong length")
    width, height, depth, colour, compression, filtering, interlace = _IHDR.unpack(header)
    if (width, height) != (size, size):
        raise MemberError(f"is {width}x{height}, not {size}x{size}")
    if colour not in _COLOURS or compression or filtering or interlace > 1:
        raise MemberError("is damaged: its header has invalid values")
    wrong_colour = _COLOURS[colour]
    if wrong_colour is not None:
        raise MemberError(wrong_colour)
    if depth != 8:
        raise MemberError(f"has {depth} bits per channel, not 8")


def _refuse_chunk(kind: bytes, content: bytes) -> None:
    """Raise ``MemberError`` for a chunk that changes what a viewer shows, or that a decoder must know."""
    if kind in _REFUSED:
        raise MemberError(_REFUSED[kind])
    if kind in _ASSUMED:
        harmless, wrong = _ASSUMED[kind]
        if content not in harmless:
            raise MemberError(wrong)
    # Section 5.4: a capital first letter marks a critical chunk, which decoders must understand. RGB images may have a
    # suggested palette (PLTE), which changes nothing.
    if kind[:1].isupper() and kind not in (b"PLTE", b"IEND"):
        raise MemberError(f"has an unknown critical chunk ({_printable(kind)})")


def _refuse_wrong_length(data: bytes, size: int, *, interlaced: bool) -> None:
    """Raise ``MemberError`` unless the data unpacks to exactly the image; Pillow shows missing rows as black."""
    expected = _filtered_bytes(size, interlaced=interlaced)
    inflater = zlib.decompressobj()
    try:
        length = len(inflater.decompress(data, expected + 1))
    except zlib.error:
        raise MemberError("is damaged: its image data can't be unpacked") from None
    if length < expected or (length == expected and not inflater.eof):
        raise MemberError("is cut short: rows are missing from its image data")
    if length > expected:
        raise MemberError("is damaged: its image data is longer than its size says")


def _filtered_bytes(size: int, *, interlaced: bool) -> int:
    """Bytes of the unpacked image data: each row of each pass has a filter byte before its pixels."""
    if not interlaced:
        return size * (1 + 3 * size)
    steps = [(-(-(size - x) // dx), -(-(size - y) // dy)) for x, y, dx, dy in _PASSES]
    return sum(rows * (1 + 3 * columns) for columns, rows in steps if columns > 0 and rows > 0)


def _chunk(kind: bytes, content: bytes) -> bytes:
    return len(content).to_bytes(4, "big") + kind + content + zlib.crc32(kind + content).to_bytes(4, "big")
