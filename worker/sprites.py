"""A picture of some of an entry's images side by side: what its team looks at, instead of 10,000 files."""

import io
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from scorer.sprites import layout_of


def sprite_of(images: NDArray[np.uint8], rng: np.random.Generator) -> bytes:
    """A PNG of up to 100 of the images (n, size, size, 3), ten in a row, in canonical order.

    Which ones, ``rng`` decides: the first hundred names may all be of one kind.
    """
    layout = layout_of(len(images), images.shape[1])
    chosen = np.sort(rng.choice(len(images), layout.count, replace=False))
    return picture_of([images[index] for index in chosen], columns=layout.columns, tile=layout.tile)


def picture_of(images: Sequence[NDArray[np.uint8]], *, columns: int, tile: int) -> bytes:
    """A PNG of square images side by side, ``columns`` in a row, each ``tile`` pixels a side; full rows only."""
    tiles = np.stack([_tile(image, tile) for image in images])
    rows = tiles.reshape(-1, columns, tile, tile, 3)
    picture = rows.transpose(0, 2, 1, 3, 4).reshape(-1, columns * tile, 3)
    buffer = io.BytesIO()
    Image.fromarray(picture).save(buffer, "PNG")
    return buffer.getvalue()


def _tile(image: NDArray[np.uint8], side: int) -> NDArray[np.uint8]:
    if image.shape[0] == side:
        return image
    return np.asarray(Image.fromarray(image).resize((side, side), Image.Resampling.LANCZOS))
