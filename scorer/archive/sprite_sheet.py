"""Sprite sheets: a sample of a submission's images, tiled into one PNG."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from scorer.archive.png_pixels import encode_png

COLUMNS = 10
MAX_IMAGES = 100
TILE = 96
"""Pixels a side. Larger images are scaled down, so a sheet is about 1 MB for any image specification."""


@dataclass(frozen=True)
class Layout:
    """``count`` images in full rows of ``columns``, each ``tile`` pixels a side."""

    count: int
    columns: int
    tile: int

    @property
    def width(self) -> int:
        """In pixels."""
        return self.columns * self.tile

    @property
    def height(self) -> int:
        """In pixels."""
        return self.count // self.columns * self.tile


def compute_layout(count: int, size: int) -> Layout:
    tiles = min(MAX_IMAGES, count // COLUMNS * COLUMNS) or count
    return Layout(tiles, min(COLUMNS, tiles), min(size, TILE))


def build_sprite_sheet(draws: Sequence[NDArray[np.uint8]], rng: np.random.Generator) -> bytes:
    """A PNG of up to 100 images, ten in a row, from each of some sets of n images (n, size, size, 3) equally many, in
    canonical order.

    They are drawn with ``rng``, because the first hundred names may all be of one kind.
    """
    layout = compute_layout(*draws[0].shape[:2])
    chosen = [
        images[index]
        for images, part in zip(draws, np.array_split(np.arange(layout.count), len(draws)), strict=True)
        for index in np.sort(rng.choice(len(images), len(part), replace=False))
    ]
    return tile_images(chosen, columns=layout.columns, tile=layout.tile)


def tile_images(images: Sequence[NDArray[np.uint8]], *, columns: int, tile: int) -> bytes:
    """A PNG of square images side by side, ``columns`` in a row, each ``tile`` pixels a side; full rows only."""
    tiles = np.stack([_tile(image, tile) for image in images])
    rows = tiles.reshape(-1, columns, tile, tile, 3)
    return encode_png(rows.transpose(0, 2, 1, 3, 4).reshape(-1, columns * tile, 3))


def _tile(image: NDArray[np.uint8], side: int) -> NDArray[np.uint8]:
    if image.shape[0] == side:
        return image
    return np.asarray(Image.fromarray(image).resize((side, side), Image.Resampling.LANCZOS))
