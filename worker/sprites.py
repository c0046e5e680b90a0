"""A picture of some of an entry's images side by side: what its team looks at, instead of 10,000 files."""

import io

import numpy as np
from numpy.typing import NDArray
from PIL import Image

COLUMNS = 10
SHOWN = 100
TILE = 96
"""Pixels a side: larger images are made smaller, so that the picture is about 1 MB whatever the competition asks."""


def sprite_of(images: NDArray[np.uint8], rng: np.random.Generator) -> bytes:
    """A PNG of up to 100 of the images (n, size, size, 3), ten in a row, full rows only, in canonical order.

    Which ones, ``rng`` decides: the first hundred names may all be of one kind.
    """
    count = min(SHOWN, len(images) // COLUMNS * COLUMNS) or len(images)
    chosen = np.sort(rng.choice(len(images), count, replace=False))
    tiles = np.stack([_tile(images[index]) for index in chosen])
    columns, side = min(COLUMNS, count), tiles.shape[1]
    rows = tiles.reshape(count // columns, columns, side, side, 3)
    picture = rows.transpose(0, 2, 1, 3, 4).reshape(count // columns * side, columns * side, 3)
    buffer = io.BytesIO()
    Image.fromarray(picture).save(buffer, "PNG")
    return buffer.getvalue()


def _tile(image: NDArray[np.uint8]) -> NDArray[np.uint8]:
    if image.shape[0] <= TILE:
        return image
    return np.asarray(Image.fromarray(image).resize((TILE, TILE), Image.Resampling.LANCZOS))
