"""The sprite sheet of some of an entry's images."""

import io

import numpy as np
import pytest
from PIL import Image

from scorer.archive.sprite_sheet import layout_of, sprite_sheet_of
from tests.factories import noise_images


def picture(count: int, size: int, seed: int = 0) -> np.ndarray:
    """The sprite of so many images of noise."""
    return np.asarray(
        Image.open(io.BytesIO(sprite_sheet_of(noise_images(1, count, size), np.random.default_rng(seed))))
    )


@pytest.mark.parametrize(
    ("count", "size", "height", "width"),
    [(10_000, 64, 640, 640), (37, 8, 24, 80), (7, 8, 8, 56), (10, 8, 8, 80), (100, 200, 960, 960)],
)
def test_full_rows_of_ten_and_no_tile_larger_than_needed(count: int, size: int, height: int, width: int) -> None:
    layout = layout_of(count, size)
    assert (layout.height, layout.width) == (height, width)
    if count < 10_000:
        assert picture(count, size).shape == (height, width, 3)


def test_it_shows_different_images_in_their_order_and_the_same_ones_again() -> None:
    images = noise_images(1, 250, 8)
    sheet = picture(250, 8)
    tiles = sheet.reshape(10, 8, 10, 8, 3).transpose(0, 2, 1, 3, 4).reshape(100, 8, 8, 3)
    where = [np.flatnonzero((images == tile).all(axis=(1, 2, 3))).item() for tile in tiles]
    assert where == sorted(set(where))
    assert where[-1] > 200, "not just the first hundred"
    assert np.array_equal(sheet, picture(250, 8))
    assert not np.array_equal(sheet, picture(250, 8, seed=1))
