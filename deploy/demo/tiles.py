"""Square tiles cut from photographs, each with its photograph and rectangle."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps

from scorer.errors import Invalid

Pixels = NDArray[np.uint8]
Part = Literal["train", "held_out", "private_extra"]
PARTS: tuple[Part, ...] = ("train", "held_out", "private_extra")

MIN_TILE_CONTRAST = 8.0
"""In grey levels of 255: a tile is dropped as near-constant if no channel's standard deviation reaches this."""


class Rectangle(NamedTuple):
    """A rectangle in a photograph's own pixels; fractional where a scaled tile ends inside one."""

    left: float
    top: float
    right: float
    bottom: float


class Tile(NamedTuple):
    """One image (size, size, 3) uint8, the name of its photograph, and its rectangle there."""

    image: Pixels
    source: str
    rectangle: Rectangle


@dataclass(frozen=True)
class Tiles:
    """One part, in random order: images (n, size, size, 3) uint8, with source and rectangle of each."""

    images: Pixels
    sources: tuple[str, ...]
    rectangles: tuple[Rectangle, ...]

    def __len__(self) -> int:
        return len(self.sources)

    def first(self, count: int) -> "Tiles":
        return Tiles(self.images[:count], self.sources[:count], self.rectangles[:count])


@dataclass
class TileCollection:
    """Collects the tiles of all parts, without near-constant tiles, repeats and mirror images."""

    tiles: dict[Part, list[Tile]] = field(default_factory=lambda: {part: [] for part in PARTS})
    seen: set[bytes] = field(default_factory=set)

    def add(self, part: Part, tiles: Iterable[Tile], max_tiles: int | None = None) -> None:
        """Add tiles that no part has yet, mirrored or not, until the part holds ``max_tiles``."""
        for tile in tiles:
            if max_tiles is not None and len(self.tiles[part]) >= max_tiles:
                return
            identity = identity_up_to_mirror(tile.image)
            if identity not in self.seen and contrast(tile.image) >= MIN_TILE_CONTRAST:
                self.seen.add(identity)
                self.tiles[part].append(tile)


def tiles_at(
    scales: Iterable[float], photograph: Image.Image, source: str, *, box: tuple[int, int, int, int], size: int
) -> Iterator[Tile]:
    """The centred grid of whole tiles in a box (left, top, right, bottom) of the photograph, at each scale.

    Tiles of one scale never overlap. The box is cut out before it is scaled: Pillow's ``resize(box=...)`` would carry
    pixels across its border.
    """
    left, top, right, bottom = box
    region = photograph.crop(box)
    for scale in scales:
        width, height = round((right - left) * scale), round((bottom - top) * scale)
        if min(width, height) < size:
            continue
        pixels = np.asarray(region.resize((width, height), Image.Resampling.LANCZOS))
        across, down = (right - left) / width, (bottom - top) / height
        for y in range(height % size // 2, height - size + 1, size):
            for x in range(width % size // 2, width - size + 1, size):
                ends = (left + x * across, top + y * down, left + (x + size) * across, top + (y + size) * down)
                yield Tile(pixels[y : y + size, x : x + size].copy(), source, Rectangle(*ends))


def open_photograph(path: Path) -> Image.Image:
    """The photograph as RGB, rotated by its EXIF orientation; :class:`Invalid` if it can't be read."""
    try:
        with Image.open(path) as image:
            return ImageOps.exif_transpose(image).convert("RGB")
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise Invalid("unreadable-photograph", f"{path} can't be read as a photograph.") from error


def contrast(image: Pixels) -> float:
    """The standard deviation, in grey levels, of the most varied channel."""
    channels = np.ascontiguousarray(image.reshape(-1, image.shape[-1]).T)
    return float(channels.std(axis=1, dtype=np.float64).max())


def identity_up_to_mirror(image: Pixels) -> bytes:
    """A hash that an image shares only with its mirror image."""
    return min(sha256(image.tobytes()).digest(), sha256(image[:, ::-1].tobytes()).digest())
