"""Hostile PNGs: a sound RGB image of 8 x 8 with one change."""

import random
import zlib
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from tests.hostile.input import Fate
from tests.pure.archive.broken_files import (
    SIGNATURE,
    build_png,
    chunk,
    header,
    interlaced_png,
    png,
    rows,
)

SIDE = 8
Pixels = NDArray[np.uint8]
Change = Callable[[Pixels, random.Random], bytes]


def _flipped(content: bytes, rng: random.Random) -> bytes:
    damaged = bytearray(content)
    for _ in range(rng.randint(1, 6)):
        damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
    return bytes(damaged)


def _wrong_crc(pixels: Pixels, rng: random.Random) -> bytes:
    content = bytearray(png(pixels))
    content[len(SIGNATURE) + 4 + 4 + 13 + rng.randrange(4)] ^= 1 + rng.randrange(255)  # of the header chunk
    return bytes(content)


def _lying_header(pixels: Pixels, rng: random.Random) -> bytes:
    width, height = rng.choice([(1, 8), (8, 9), (0, 0), (65_535, 65_535), (2**31 - 1, 1), (2**32 - 1, 2**32 - 1)])
    return build_png(header(width, height), zlib.compress(rows(pixels)))


def _other_colour(pixels: Pixels, rng: random.Random) -> bytes:
    depth, colour = rng.choice([(8, 0), (8, 3), (8, 4), (8, 6), (16, 2), (1, 0), (3, 2), (8, 7), (255, 255)])
    return build_png(header(SIDE, SIDE, depth, colour), zlib.compress(rows(pixels)))


def _bomb(_: Pixels, rng: random.Random) -> bytes:
    return build_png(header(SIDE, SIDE), zlib.compress(bytes(rng.choice([10**5, 10**7])), 9))


def _animated(pixels: Pixels, rng: random.Random) -> bytes:
    kind = rng.choice([b"acTL", b"fcTL", b"fdAT"])
    return png(pixels, before=[(kind, rng.randbytes(26))])


def _meaningful_chunk(pixels: Pixels, rng: random.Random) -> bytes:
    kind = rng.choice([b"tRNS", b"iCCP", b"eXIf", b"gAMA", b"cICP", b"ABCD"])
    return png(pixels, before=[(kind, rng.randbytes(rng.randint(0, 40)))])


def _text(pixels: Pixels, rng: random.Random) -> bytes:
    kinds = [b"tEXt", b"zTXt", b"iTXt", b"tIME", b"pHYs", b"sRGB", b"abcd"]
    chunks = [(rng.choice(kinds), rng.randbytes(rng.randint(0, 3000))) for _ in range(rng.randint(1, 5))]
    bomb = (b"zTXt", b"Comment\0\0" + zlib.compress(bytes(10**6)))
    return png(pixels, before=[*chunks, bomb], after=chunks)


def _cut(pixels: Pixels, rng: random.Random) -> bytes:
    content = png(pixels)
    return content[: rng.randrange(len(content) - 12)]


def _split_data(pixels: Pixels, rng: random.Random) -> bytes:
    data = zlib.compress(rows(pixels))
    at = rng.randrange(1, len(data))
    between = chunk(b"tEXt", b"a\0b") if rng.random() < 0.5 else b""
    return (
        SIGNATURE
        + header(SIDE, SIDE)
        + chunk(b"IDAT", data[:at])
        + between
        + chunk(b"IDAT", data[at:])
        + chunk(b"IEND")
    )


def _lying_length(pixels: Pixels, rng: random.Random) -> bytes:
    content = bytearray(png(pixels))
    content[8:12] = rng.choice([2**32 - 1, 2**31, 0, 12, 14]).to_bytes(4, "big")
    return bytes(content)


def _other_filter(pixels: Pixels, rng: random.Random) -> bytes:
    raw = bytearray(rows(pixels))
    raw[0] = rng.randint(5, 255)
    return build_png(header(SIDE, SIDE), zlib.compress(bytes(raw)))


CHANGES: dict[str, tuple[Change, Fate]] = {
    "png: unchanged": (lambda pixels, _: png(pixels), Fate.ACCEPTED),
    "png: interlaced": (lambda pixels, _: interlaced_png(pixels), Fate.ACCEPTED),
    "png: text chunks": (_text, Fate.ACCEPTED),
    "png: trailing data": (lambda pixels, rng: png(pixels) + rng.randbytes(rng.randint(1, 5000)), Fate.ACCEPTED),
    "png: wrong CRC": (_wrong_crc, Fate.REFUSED),
    "png: false size": (_lying_header, Fate.REFUSED),
    "png: other colours": (_other_colour, Fate.REFUSED),
    "png: bomb": (_bomb, Fate.REFUSED),
    "png: animated": (_animated, Fate.REFUSED),
    "png: chunk that changes the image": (_meaningful_chunk, Fate.REFUSED),
    "png: cut short": (_cut, Fate.REFUSED),
    "png: data in two chunks": (_split_data, Fate.EITHER),
    "png: false length": (_lying_length, Fate.REFUSED),
    "png: unknown filter": (_other_filter, Fate.EITHER),
    "png: flipped bits": (lambda pixels, rng: _flipped(png(pixels), rng), Fate.EITHER),
    "png: another format": (
        lambda _, rng: rng.choice([b"GIF89a", b"\xff\xd8\xff", b"BM", b""]) + rng.randbytes(99),
        Fate.REFUSED,
    ),
}
"""By kind: the change, and the required outcome."""


def hostile_png(pixels: Pixels, rng: random.Random, *, harmless: bool = False) -> tuple[str, bytes, Fate]:
    """The kind, bytes and required outcome of a changed image. ``harmless`` images must be accepted."""
    kinds = [kind for kind, (_, fate) in CHANGES.items() if not harmless or fate is Fate.ACCEPTED]
    kind = rng.choice(kinds)
    change, fate = CHANGES[kind]
    return kind, change(pixels, rng), fate
