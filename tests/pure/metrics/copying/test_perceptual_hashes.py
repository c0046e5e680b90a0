"""Perceptual hashes: their bits against scipy's cosine transform, mirror images, altered copies, unrelated images."""

import io
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image
from scipy.fft import dctn
from scipy.ndimage import gaussian_filter

from scorer.archive.pixel_hashes import mirror_images
from scorer.errors import Invalid
from scorer.metrics.copying.perceptual_hashes import (
    BITS,
    hamming_distances,
    have_hashes,
    mirror_hashes,
    perceptual_hashes,
)
from tests.factories import noise_images

Images = NDArray[np.uint8]


def smooth_images(seed: int, count: int, size: int = 64) -> Images:
    """Images whose neighbouring pixels are alike, as in photographs."""
    blurred = sum(
        gaussian_filter(np.random.default_rng((seed, width)).normal(size=(count, size, size, 3)), (0, width, width, 0))
        * width
        for width in (1, 3, 8)
    )
    return np.clip(128.0 + 60.0 * blurred / np.std(blurred), 0.0, 255.0).astype(np.uint8)


@pytest.mark.parametrize("size", [32, 50, 64])
def test_bits_are_signs_of_the_cosine_transform(size: int) -> None:
    images = smooth_images(1, 5, size)
    coefficients = dctn(images @ np.array([0.299, 0.587, 0.114]), type=2, norm="ortho", axes=(1, 2))
    frequencies = [(down, across) for down in range(1, 17) for across in range(1, 17)]
    frequencies.sort(key=lambda each: each[0] ** 2 + each[1] ** 2)  # stable, as the hashes' order is
    expected = np.stack([coefficients[:, down, across] > 0.0 for down, across in frequencies], axis=1)
    hashes = perceptual_hashes(images)
    assert hashes.dtype == np.uint32
    bits = np.stack([hashes[:, bit // 32] >> (bit % 32) & 1 for bit in range(BITS)], axis=1)
    assert (bits == expected).all()
    assert (perceptual_hashes(images.astype(np.float32)) == hashes).all()


def test_the_hash_of_the_mirror_image_follows_from_the_hash() -> None:
    images = smooth_images(2, 20)
    images[7] = 90
    hashes = perceptual_hashes(images)
    turned = perceptual_hashes(mirror_images(images))
    assert (mirror_hashes(hashes) == turned).all()
    assert (mirror_hashes(turned) == hashes).all()
    assert (hamming_distances(hashes, turned) == np.where(have_hashes(hashes), BITS // 2, 0)).all()


def _jpeg(image: Images) -> Images:
    buffer = io.BytesIO()
    Image.fromarray(image).save(buffer, "JPEG", quality=75)
    return np.asarray(Image.open(buffer))


def _resized(image: Images) -> Images:
    return np.asarray(Image.fromarray(image).resize((48, 48)).resize((64, 64)))


def _noisy(image: Images) -> Images:
    noise = np.random.default_rng(0).normal(scale=3.0, size=image.shape)
    return np.clip(image + noise, 0.0, 255.0).astype(np.uint8)


def _darker(image: Images) -> Images:
    return (image * 0.7 + 10.0).astype(np.uint8)


@pytest.mark.parametrize("alter", [_jpeg, _resized, _noisy, _darker])
def test_altered_copies_are_near_and_unrelated_images_are_far(alter: Callable[[Images], Images]) -> None:
    images = smooth_images(3, 40)
    hashes = perceptual_hashes(images)
    altered = perceptual_hashes(np.stack([alter(image) for image in images]))
    distances = hamming_distances(hashes[:, None], altered[None])
    own = np.eye(len(images), dtype=bool)
    assert distances[own].max() <= 48
    assert np.median(distances[own]) <= 24
    assert distances[~own].min() > 64


def test_images_without_detail_and_small_ones_have_no_hash() -> None:
    flat = np.full((2, 64, 64, 3), 200, np.uint8)
    flat[1, 3, 3] = 203
    assert not have_hashes(perceptual_hashes(np.concatenate([flat, smooth_images(4, 1)])))[:2].any()
    assert have_hashes(perceptual_hashes(noise_images(5, 3, 32))).all()
    assert not have_hashes(perceptual_hashes(noise_images(5, 3, 31))).any()


def test_distances_count_differing_bits() -> None:
    one, other = np.random.default_rng(6).integers(0, 2**32, (2, 10, 8), dtype=np.uint32)
    expected = [
        sum((a ^ b).bit_count() for a, b in zip(*pair, strict=True))
        for pair in zip(one.tolist(), other.tolist(), strict=True)
    ]
    assert hamming_distances(one, other).tolist() == expected


def test_other_images_are_refused() -> None:
    wrong: list[Any] = [np.zeros((1, 64, 32, 3), np.uint8), np.zeros((1, 64, 64, 3), np.int32)]
    for images in wrong:
        with pytest.raises(Invalid, match="square and RGB"):
            perceptual_hashes(images)
