"""Perceptual hashes: bits compared with the cosine transform of scipy, altered copies, and near duplicates compared
with a search of every pair."""

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
from scorer.findings.duplicates import hash_copies_finding
from scorer.metrics.copying import near_hashes
from scorer.metrics.copying.near_duplicates import Originals, near_duplicates
from scorer.metrics.copying.near_hashes import NEIGHBOURS, hash_originals
from scorer.metrics.copying.perceptual_hashes import (
    BITS,
    PerceptualHashes,
    hamming_distances,
    have_hashes,
    mirror_hashes,
    perceptual_hashes,
)
from scorer.metrics.copying.thumbnails import Pixels
from tests.factories import noise_images

Images = NDArray[np.uint8]


def smooth_images(seed: int, count: int, size: int = 64) -> Images:
    """Images with similar neighbouring pixels, like photographs."""
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
    frequencies.sort(key=lambda pair: pair[0] ** 2 + pair[1] ** 2)  # a stable sort, like the order in the hashes
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
    mirrored = perceptual_hashes(mirror_images(images))
    assert (mirror_hashes(hashes) == mirrored).all()
    assert (mirror_hashes(mirrored) == hashes).all()
    assert (hamming_distances(hashes, mirrored) == np.where(have_hashes(hashes), BITS // 2, 0)).all()


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


def test_images_without_detail_and_small_images_have_no_hash() -> None:
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


def test_invalid_images_are_refused() -> None:
    wrong: list[Any] = [np.zeros((1, 64, 32, 3), np.uint8), np.zeros((1, 64, 64, 3), np.int32)]
    for images in wrong:
        with pytest.raises(Invalid, match="square RGB"):
            perceptual_hashes(images)


SIZE = 48


def photographs(seed: int, count: int) -> Pixels:
    """Images with frequencies that decrease like those of photographs."""
    random = np.random.default_rng(seed)
    fade = 1.0 / (1.0 + np.hypot(*np.meshgrid(np.arange(SIZE), np.arange(SIZE))))
    cosines = np.cos(np.pi / SIZE * np.arange(SIZE)[:, None] * (np.arange(SIZE) + 0.5))
    waves = cosines.T @ (random.standard_normal((count, 3, SIZE, SIZE)) * fade) @ cosines
    levels = 128.0 + 40.0 * waves / waves.std(axis=(2, 3), keepdims=True)
    images: Pixels = np.clip(np.rint(levels.transpose(0, 2, 3, 1)), 0, 255).astype(np.uint8)
    return images


TRAINING = perceptual_hashes(photographs(1, 400))
HELD_OUT = hash_originals(perceptual_hashes(photographs(2, 300)), TRAINING)


def by_search(hashes: PerceptualHashes, training: PerceptualHashes) -> Originals:
    """The originals from a comparison of every pair."""
    both = np.stack(
        [hamming_distances(hashes[:, None], candidates) for candidates in (training, mirror_hashes(training))]
    )
    bits = both.min(axis=0)
    mean = np.sort(bits, axis=1)[:, :NEIGHBOURS].mean(axis=1)
    index = bits.argmin(axis=1)
    rows = np.arange(len(bits))
    return Originals(bits.min(axis=1) / mean, index, both[1, rows, index] < both[0, rows, index])


def test_originals_match_a_search_with_any_block_size(monkeypatch: pytest.MonkeyPatch) -> None:
    own = np.concatenate([perceptual_hashes(photographs(3, 30)), TRAINING[5:9], mirror_hashes(TRAINING[9:12])])
    expected = by_search(own, TRAINING)
    for pairs in (1 << 20, 2500):
        monkeypatch.setattr(near_hashes, "_BLOCK_PAIRS", pairs)
        shares = list[float]()
        found = hash_originals(own, TRAINING, progress=shares.append)
        np.testing.assert_allclose(found.distance, expected.distance)
        np.testing.assert_array_equal(found.index, expected.index)
        np.testing.assert_array_equal(found.mirrored, expected.mirrored)
        assert shares == sorted(shares)
        assert shares[-1] == 1.0
    assert found.index[30:].tolist() == list(range(5, 12))
    assert found.distance[30:].tolist() == [0.0] * 7
    assert found.mirrored[30:].tolist() == [False] * 4 + [True] * 3


def test_a_training_image_blended_with_another_is_found() -> None:
    training, others = photographs(1, 400)[:100], photographs(4, 100)
    blended = np.rint(0.5 * training + 0.5 * others).astype(np.uint8)
    found = near_duplicates(hash_originals(perceptual_hashes(blended), TRAINING), HELD_OUT.distance)
    assert found.closeness.share > 0.9
    assert {example.generated for example in found.examples} == {example.reference for example in found.examples}
    assert "Images that show a training image, altered" in hash_copies_finding(found).sentence
    honest = near_duplicates(hash_originals(perceptual_hashes(others), TRAINING), HELD_OUT.distance)
    assert honest.closeness.share < 0.05
    assert hash_copies_finding(honest).sentence.endswith("may be chance.")


def test_images_without_a_hash_have_no_original() -> None:
    grey = np.full((3, SIZE, SIZE, 3), 90, np.uint8)
    found = hash_originals(perceptual_hashes(grey), TRAINING)
    assert found.distance.tolist() == [1.0] * 3
    assert not found.mirrored.any()
    partial = np.concatenate([np.zeros((4, 8), np.uint32), TRAINING[:3]])
    assert hash_originals(TRAINING[:3], partial).index.tolist() == [4, 5, 6]
    with pytest.raises(Invalid) as refused:
        hash_originals(TRAINING, partial[:5])
    assert refused.value.slug == "too-few-images"
    uninformative = near_duplicates(found, hash_originals(TRAINING[:50], TRAINING).distance)
    assert hash_copies_finding(uninformative).value is None
