"""Generators that are nearly the same, from their images at the same latents."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from scorer.metrics.copying.same_generator import are_nearly_same, nearly_same_share
from scorer.metrics.copying.thumbnails import THUMBNAIL_SIDE

COUNT, SIDE = 64, 16
Values = NDArray[np.float64]


def smooth(seed: int) -> Values:
    """Images (n, s, s, 3) in [-1, 1] of large patches."""
    patches = np.random.default_rng(seed).normal(0.0, 0.4, (COUNT, THUMBNAIL_SIDE, THUMBNAIL_SIDE, 3))
    return np.tanh(patches.repeat(SIDE // THUMBNAIL_SIDE, 1).repeat(SIDE // THUMBNAIL_SIDE, 2))


def pixels(values: Values) -> NDArray[np.uint8]:
    return np.clip(np.rint((values + 1.0) * 127.5), 0, 255).astype(np.uint8)


@pytest.mark.parametrize(
    "change",
    [
        lambda values: values,
        lambda values: values[:, :, ::-1],
        lambda values: 0.5 * values - 0.2,
        lambda values: values + np.random.default_rng(2).normal(0.0, 0.1, values.shape),
        lambda values: np.where(np.arange(COUNT)[:, None, None, None] % 2, values, smooth(3)),
    ],
    ids=["equal", "mirrored", "darker", "noise", "half"],
)
def test_changed_images_are_nearly_the_same(change: Callable[[Values], Any]) -> None:
    assert are_nearly_same(pixels(smooth(1)), pixels(change(smooth(1))))


def test_other_images_are_not() -> None:
    one, other = smooth(1), smooth(4)
    assert nearly_same_share(pixels(one), pixels(other)) == 0.0
    mixed = np.where(np.arange(COUNT)[:, None, None, None] < 20, one, other)
    assert nearly_same_share(pixels(one), pixels(mixed)) == pytest.approx(20 / 64)
    assert not are_nearly_same(pixels(one), pixels(np.roll(one, 1, axis=0))), "the latents must be the same"


def test_images_of_one_colour_are_like_no_other() -> None:
    grey = np.full((COUNT, SIDE, SIDE, 3), 128, np.uint8)
    assert not are_nearly_same(grey, grey)
