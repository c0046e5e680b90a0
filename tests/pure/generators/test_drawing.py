"""Pixels from values, the tolerance between two drawings, and which images are drawn again."""

import hashlib

import numpy as np
import pytest

from scorer.generators.drawing import (
    BATCH,
    MAX_DIFFERENT,
    compare_draws,
    redrawn_rows,
    shift_to_other_rows,
    to_pixels,
)

DIGESTS = [hashlib.sha256(bytes([seed])).digest() for seed in range(30)]


def test_levels_are_the_nearest_of_256() -> None:
    levels = np.arange(256, dtype=np.float32).reshape(1, 1, 16, 16)
    for values, name in ((levels / 255, "sigmoid"), (levels / 127.5 - 1, "tanh")):
        for moved in (-0.49 / 255, 0.0, 0.49 / 255):
            pixels = to_pixels(np.float32(values + moved * np.ptp(values)), name)  # type: ignore[arg-type]
            assert pixels.shape == (1, 16, 16, 3)
            np.testing.assert_array_equal(pixels, np.repeat(levels[0, 0, :, :, None], 3, 2)[None])


def test_channels_come_last() -> None:
    values = np.linspace(-1, 1, 2 * 3 * 4 * 4, dtype=np.float32).reshape(2, 3, 4, 4)
    pixels = to_pixels(values, "tanh")
    assert pixels[1, 2, 3, 0] == np.rint((values[1, 0, 2, 3] + 1) * 127.5)
    assert pixels.flags.c_contiguous


def test_the_tolerance_is_one_level_and_one_percent() -> None:
    first = np.full((1500, 2, 2, 3), 100, np.uint8)
    second = first.copy()
    second[:, 0, 0, 0] += 1
    assert compare_draws(first, second) == 0.0
    second[-15:, :, :, :] = 98
    assert compare_draws(first, second) == MAX_DIFFERENT
    with pytest.raises(ValueError, match="shapes"):
        compare_draws(first, second[1:])


@pytest.mark.parametrize("count", [1, 2, 3, 64, 65, 128, 1000, 10_000])
def test_redrawn_images_are_spread_and_change_rows_and_neighbours(count: int) -> None:
    for digest in DIGESTS:
        rows = redrawn_rows(digest, count)
        assert len(rows) == min(BATCH, max(1, count // 2))
        assert rows[0] >= 0
        assert rows[-1] < count
        parts = rows * len(rows) // count
        assert (np.abs(parts - np.arange(len(rows))) <= 1).all()
        assert len(np.unique(rows)) == len(rows)
        places = (np.arange(len(rows)) + shift_to_other_rows(rows)) % BATCH
        assert (places == rows % BATCH).sum() <= 1
    assert count < BATCH or len({tuple(redrawn_rows(digest, count)) for digest in DIGESTS}) == len(DIGESTS)
