"""The support size of generators: tables whose images are altered, honest generators, and the sizes of both."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.fft import idctn

from scorer.errors import Invalid
from scorer.findings.support_size import support_finding
from scorer.metrics.copying.aligned_images import AlignedImages
from scorer.metrics.copying.close_pairs import ClosePairs
from scorer.metrics.copying.support_size import SupportSize, equal_pixels, estimate_support, support_within
from tests.factories import noise_images

Pixels = NDArray[np.uint8]
SIZE = 32


def smooth_images(random: np.random.Generator, count: int, *, dimension: int = 40) -> Pixels:
    """Images of a random linear generator with a latent space of this dimension and a spectrum like photographs'."""
    spectrum = 1.0 / (1.0 + np.hypot(*np.mgrid[:8, :8]))
    spectrum[0, 0] = 0.0
    axes = np.random.default_rng(7).standard_normal((dimension, 3, 8, 8)) * spectrum
    coefficients = np.zeros((count, 3, SIZE, SIZE))
    codes = random.standard_normal((count, dimension))
    coefficients[:, :, :8, :8] = np.tensordot(codes, axes, 1) * 1200.0 / np.sqrt(dimension)
    return _levels(idctn(coefficients, axes=(2, 3), norm="ortho").transpose(0, 2, 3, 1) + 128.0)


def altered(random: np.random.Generator, images: Pixels) -> Pixels:
    """Each image shifted, perhaps mirrored, brighter or darker, with more or less contrast, and noisy."""
    count = len(images)
    padded = np.pad(images.astype(np.float64), ((0, 0), (2, 2), (2, 2), (0, 0)), mode="edge")
    tops, lefts = random.integers(0, 5, (2, count))
    shifted = np.stack([image[y : y + SIZE, x : x + SIZE] for image, y, x in zip(padded, tops, lefts, strict=True)])
    turned = random.random(count) < 0.5
    shifted[turned] = shifted[turned, :, ::-1]
    factor, brightness = random.uniform(0.85, 1.15, (count, 1, 1, 1)), random.uniform(-20, 20, (count, 1, 1, 1))
    return _levels((shifted - 128.0) * factor + 128.0 + brightness + random.normal(0.0, 4.0, shifted.shape))


def _levels(images: np.ndarray) -> Pixels:
    levels: Pixels = np.clip(np.rint(images), 0, 255).astype(np.uint8)
    return levels


def covers(support: SupportSize, size: float) -> bool:
    return support.low <= size <= (support.high or np.inf)


@pytest.mark.parametrize("dimension", [4, 40])
def test_an_honest_generator_is_no_table(dimension: int) -> None:
    support = estimate_support([smooth_images(np.random.default_rng(1), 1200, dimension=dimension)])
    assert not support.is_table
    assert support.equal_pairs == 0
    assert support.images == 1200
    assert support.compared_pairs == pytest.approx(1200 * 1199 / 2, rel=0.01)


def test_an_altered_table_is_found_with_its_size() -> None:
    random = np.random.default_rng(2)
    table = smooth_images(random, 150)
    support = estimate_support([altered(random, table[random.integers(150, size=400)]) for _ in range(2)])
    assert support.is_table
    assert covers(support, 150)
    assert support.size == pytest.approx(150, rel=0.1)
    assert "about 1" in support_finding(support).sentence


def test_a_half_honest_table_is_found() -> None:
    random = np.random.default_rng(3)
    table, honest = smooth_images(random, 100), smooth_images(random, 600)
    drawn = altered(random, table[random.integers(100, size=600)])
    support = estimate_support([np.concatenate([drawn, honest])])
    assert support.is_table
    assert covers(support, 4 * 100)


def test_a_table_by_row_shows_across_draws_only() -> None:
    random = np.random.default_rng(4)
    table = smooth_images(random, 500)
    assert not estimate_support([altered(random, table)]).is_table
    support = estimate_support([altered(random, table), altered(random, table)])
    assert support.is_table
    assert support.near_pairs == pytest.approx(500, rel=0.02)


def test_unequal_shares_count_by_their_squares() -> None:
    random = np.random.default_rng(5)
    shares = np.repeat([0.5 / 10, 0.5 / 190], [10, 190])
    images = smooth_images(random, 200)[random.choice(200, size=900, p=shares)]
    support = estimate_support([images])
    assert support.is_table
    assert covers(support, 1.0 / np.square(shares).sum())


def test_a_collapsed_generator_shows_its_modes() -> None:
    random = np.random.default_rng(6)
    modes = smooth_images(random, 7)[random.integers(7, size=900)]
    support = estimate_support([_levels(modes + random.normal(0.0, 6.0, modes.shape))])
    assert support.is_table
    assert support.size == pytest.approx(7, rel=0.05)


def test_images_that_are_all_alike_are_a_table_of_one() -> None:
    random = np.random.default_rng(7)
    support = estimate_support([altered(random, smooth_images(random, 1).repeat(300, axis=0))])
    assert support.is_table
    assert support.size == pytest.approx(1.0, abs=0.01)


def test_features_find_a_table_that_pixels_hide() -> None:
    random = np.random.default_rng(8)
    images = smooth_images(random, 800)
    honest = random.standard_normal((800, 30)).astype(np.float32)
    repeated = honest[random.integers(200, size=800)] + random.normal(0.0, 0.01, honest.shape).astype(np.float32)
    assert not estimate_support([images[:400], images[400:]], [honest[:400], honest[400:]]).is_table
    support = estimate_support([images[:400], images[400:]], [repeated[:400], repeated[400:]])
    assert support.is_table
    assert support.space == "features"
    assert covers(support, 200)
    assert "in feature space" in support_finding(support).sentence
    of_first = estimate_support([images[:400], images[400:]], [repeated[:400]])
    assert (of_first.space, of_first.compared_pairs) == ("features", 400 * 399 // 2)


@pytest.mark.parametrize(("images", "rows"), [(150, 150), (1200, 60)])
def test_95_of_100_intervals_cover_the_size(images: int, rows: int) -> None:
    random = np.random.default_rng(9)
    shares = random.dirichlet(np.full(120, 0.5))
    size = 1.0 / np.square(shares).sum()
    covered = 0
    for _ in range(400):
        shown = random.choice(120, size=images, p=shares)
        first, second = np.nonzero(np.triu(shown[:rows, None] == shown, 1))
        pairs = ClosePairs(first, second, np.zeros(len(first), np.float32), rows, images)
        _, low, high = support_within(pairs, 0.1)
        covered += low <= size <= (high or np.inf)
    assert 0.92 <= covered / 400 <= 0.99


def test_equal_pixels_are_counted_within_and_across_draws() -> None:
    one, other = noise_images(0, 3), noise_images(1, 4)
    assert equal_pixels([one, other]).equal_pairs == 0
    assert equal_pixels([np.concatenate([one, one[:1]]), np.concatenate([other, one[:1]])]).equal_pairs == 3


def test_images_of_one_colour_are_compared_pixel_by_pixel() -> None:
    images = smooth_images(np.random.default_rng(10), 500)
    greys = np.broadcast_to(np.arange(256, dtype=np.uint8)[:, None, None, None], (256, SIZE, SIZE, 3))
    support = estimate_support([np.concatenate([greys, images])])
    assert not support.is_table
    assert (support.equal_pairs, support.compared_pairs) == (0, 500 * 499 // 2)
    black = np.zeros_like(images)
    support = estimate_support([np.concatenate([black, images])])
    assert support.is_table
    assert covers(support, 4)
    assert (support.space, support.near_pairs) == ("equal pixels", 500 * 499 // 2)
    assert support_finding(support).sentence == (
        "Of 499,500 compared pairs of images, 124,750 are equal. The generator draws about 4 different images "
        f"(95 % interval {support.low:,.0f} to {support.high:,.0f}). A table of images looks like this, or a generator "
        "that has collapsed or often draws one colour."
    )
    assert estimate_support([black]).size == 1.0
    with pytest.raises(Invalid, match="At least 2 images"):
        estimate_support([black[:1]])


def test_the_interval_of_equal_pixels_contains_the_true_size() -> None:
    random = np.random.default_rng(14)
    shares = random.dirichlet(np.ones(60))
    colours = random.permutation(256)[:60].astype(np.uint8)
    true, covered = 1.0 / np.square(shares).sum(), 0
    for _ in range(200):
        drawn = colours[random.choice(60, 150, p=shares)]
        support = estimate_support([np.broadcast_to(drawn[:, None, None, None], (150, 8, 8, 3))])
        covered += covers(support, true)
    assert 0.9 <= covered / 200 <= 1.0


@pytest.mark.parametrize("size", [16, 32, 64])
def test_windows_of_shifted_and_mirrored_images_are_equal(size: int) -> None:
    shift = size // 8
    images = smooth_images(np.random.default_rng(11), 5)
    images = images[:, ::2, ::2] if size == 16 else images.repeat(size // SIZE, axis=1).repeat(size // SIZE, axis=2)
    moved = np.roll(images, (shift, -shift), axis=(1, 2))[:, :, ::-1]
    brighter = _levels(moved * 0.8 + 40.0)
    nearest = (AlignedImages([brighter]).windows(np.arange(5)) * AlignedImages([images]).middles[:, None]).sum(2).max(1)
    assert nearest == pytest.approx(np.ones(5), abs=1e-3)


def test_the_sentence_of_an_honest_generator_has_a_lower_bound() -> None:
    support = estimate_support([smooth_images(np.random.default_rng(12), 300)])
    assert support.near_pairs == 0
    finding = support_finding(support)
    assert finding.value is None
    assert finding.sentence == (
        "Of 44,850 compared pairs of images, 0 are nearly equal. The generator has at least about"
        f" {44850 / -np.log(0.025):,.0f} different images."
    )
