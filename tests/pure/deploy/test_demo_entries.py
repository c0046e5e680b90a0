"""The demo's entries: each generator's effect on training images, and a consistent table of entries."""

import re
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from deploy.demo import generators
from deploy.demo.entries import ENTRIES, DemoEntry
from deploy.demo.generators import (
    Pixels,
    blended,
    copies,
    cropped,
    decode_codes,
    fit_pixel_space,
    gaussian,
    half_copied,
    kernel_density,
    mirrored,
    mixture,
    noisy,
    one_hot,
    reconstructed,
)

SIZE = 12


def make_rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def smooth_images(count: int) -> Pixels:
    """Different smooth images with a little noise, with grey levels so central that nothing is clipped."""
    rng = make_rng(5)
    grid = np.linspace(0, np.pi, SIZE)
    waves = np.stack([np.outer(np.cos(a * grid), np.cos(b * grid)) for a in range(4) for b in range(4)])
    smooth = 128 + np.einsum("nwc,wyx->nyxc", rng.normal(0, 8, (count, 16, 3)), waves)
    images: Pixels = np.clip(np.rint(smooth + rng.normal(0, 2, smooth.shape)), 0, 255).astype(np.uint8)
    return images


@pytest.fixture
def train() -> Pixels:
    return smooth_images(60)


def to_byte_set(images: Pixels) -> set[bytes]:
    return {image.tobytes() for image in images}


def share_in(images: Pixels, train: Pixels) -> float:
    """The share of images that equal a training image."""
    known = to_byte_set(train)
    return sum(image.tobytes() in known for image in images) / len(images)


def distance_to(images: Pixels, train: Pixels) -> NDArray[np.float64]:
    """Root mean square difference, in grey levels, of each image from its nearest training image."""
    a, b = (pixels.reshape(len(pixels), -1).astype(np.float64) for pixels in (images, train))
    return np.asarray(np.sqrt(((a[:, None] - b[None]) ** 2).mean(axis=2)).min(axis=1))


each_entry = pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.key)


@each_entry
@pytest.mark.parametrize("count", [1, 25, 150])
def test_an_entry_has_the_requested_number_of_images(entry: DemoEntry, count: int, train: Pixels) -> None:
    images = entry.generate(train, count, make_rng())
    assert images.shape == (count, SIZE, SIZE, 3)
    assert images.dtype == np.uint8
    assert images.flags.c_contiguous


@each_entry
def test_an_entry_is_a_pure_function(entry: DemoEntry, train: Pixels) -> None:
    before = train.copy()
    first, same = (entry.generate(train, 25, make_rng(3)) for _ in range(2))
    other = entry.generate(train, 25, make_rng(4))
    assert np.array_equal(train, before)
    assert np.array_equal(first, same)
    assert not np.array_equal(first, other)


@each_entry
def test_only_copies_and_half_copies_equal_training_images(entry: DemoEntry) -> None:
    train = smooth_images(250)  # more than the autoencoder has hidden units
    images = entry.generate(train, 40, make_rng())
    either_way = np.concatenate([train, train[:, :, ::-1]])
    expected = {"raw-copies": 1.0, "mirrored-copies": 1.0, "half-copied": 0.5}.get(entry.key, 0.0)
    assert share_in(images, either_way) == expected


def test_the_table_has_the_kinds_of_entries_that_the_demo_promises() -> None:
    assert len(ENTRIES) >= 12
    assert len({entry.key for entry in ENTRIES}) == len({entry.team for entry in ENTRIES}) == len(ENTRIES)
    assert all(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", entry.key) for entry in ENTRIES)
    honest = {entry.kind for entry in ENTRIES if entry.label == "legitimate"}
    memorising = {entry.kind for entry in ENTRIES if entry.label not in {"legitimate", None}}
    assert len(honest) >= 2
    assert len(memorising) >= 4
    assert not honest & memorising
    assert {entry.expected for entry in ENTRIES} == {"honest", "copy", "penalised", "escapes"}
    assert all((entry.label == "legitimate") == (entry.expected == "honest") for entry in ENTRIES)


def test_the_first_three_entries_are_enough_to_choose_a_threshold() -> None:
    labels = {entry.label for entry in ENTRIES[:3]}
    assert "legitimate" in labels
    assert labels & {"aug", "sup", "ae", "mgan"}


def test_copies_repeat_only_if_the_training_set_is_too_small(train: Pixels) -> None:
    assert len(to_byte_set(copies(train, len(train), make_rng()))) == len(train)
    many = copies(train, 3 * len(train), make_rng())
    assert share_in(many, train) == 1


def test_mirrored_copies_are_mirror_images(train: Pixels) -> None:
    images = mirrored(train, 40, make_rng())
    assert share_in(images, train) == 0
    assert share_in(np.ascontiguousarray(images[:, :, ::-1]), train) == 1


def test_noise_has_the_requested_deviation() -> None:
    grey = np.full((4, 32, 32, 3), 128, np.uint8)
    difference = noisy(grey, 20, make_rng(), deviation=6.0).astype(float) - 128
    assert difference.mean() == pytest.approx(0, abs=0.1)
    assert difference.std() == pytest.approx(6, abs=0.1)


def test_a_crop_is_a_smaller_region_at_full_size() -> None:
    ramp = np.repeat(np.arange(0, 240, 240 // SIZE, dtype=np.uint8)[None, :, None], SIZE, axis=0)
    ramps = np.repeat(ramp[None], 3, axis=3).repeat(5, axis=0)
    assert np.array_equal(cropped(ramps, 5, make_rng(), min_share=1.0, max_share=1.0), ramps)
    half = cropped(ramps, 30, make_rng(), min_share=0.5, max_share=0.5).astype(int)
    assert np.ptp(half, axis=2).max() == pytest.approx(np.ptp(ramp) / 2, abs=15)
    assert len(np.unique(half[:, 0, 0, 0])) > 3, "crops come from different places"


def test_a_blend_is_between_two_images() -> None:
    black_and_white = np.stack([np.zeros((4, 4, 3), np.uint8), np.full((4, 4, 3), 200, np.uint8)])
    shares = blended(black_and_white, 400, make_rng(), max_share=0.8)[:, 0, 0, 0] / 200
    assert shares.min() == pytest.approx(0.2, abs=0.01)
    assert shares.max() == pytest.approx(0.8, abs=0.01)


def test_principal_components_reproduce_the_training_images(train: Pixels) -> None:
    space = fit_pixel_space(train, None, make_rng())
    assert space.codes.shape == (60, 59)
    assert np.allclose(space.axes @ space.axes.T, np.eye(59), atol=1e-3)
    assert np.allclose(space.codes.std(axis=0, ddof=1), 1, atol=1e-3)
    assert np.array_equal(decode_codes(space, space.codes), train)


def test_reconstruction_is_the_best_of_its_rank(train: Pixels) -> None:
    assert share_in(reconstructed(train, 60, make_rng(), rank=59), train) == 1
    flat = train.reshape(60, -1) - train.reshape(60, -1).mean(axis=0)
    values = np.linalg.svd(flat, compute_uv=False)
    for rank in (5, 20):
        best = np.sqrt((values[rank:] ** 2).sum() / flat.size)
        error = np.sqrt((distance_to(reconstructed(train, 60, make_rng(), rank=rank), train) ** 2).mean())
        assert error == pytest.approx(best, rel=0.05)


def test_the_bandwidth_of_a_kernel_density_goes_from_copies_to_noise(train: Pixels) -> None:
    assert share_in(kernel_density(train, 60, make_rng(), bandwidth=0.0), train) == 1
    distances = [
        distance_to(kernel_density(train, 60, make_rng(), bandwidth=bandwidth), train).mean()
        for bandwidth in (0.05, 0.2, 0.5, 1.0)
    ]
    assert distances == sorted(distances)
    assert distances[0] < 0.1 * distances[-1]


def test_a_kernel_density_adds_the_training_covariance(train: Pixels) -> None:
    spread = train.astype(float).std(axis=0).mean()
    drawn = kernel_density(train, 2000, make_rng(), bandwidth=1.0).astype(float).std(axis=0).mean()
    assert drawn == pytest.approx(spread * np.sqrt(2), rel=0.03)


def test_a_gaussian_has_the_training_mean_and_first_components(train: Pixels) -> None:
    images = gaussian(train, 3000, make_rng(), rank=5).reshape(3000, -1).astype(float)
    space = fit_pixel_space(train, 5, make_rng())
    centred = images - space.mean
    assert np.abs(centred.mean(axis=0)).max() < 2
    codes = centred @ space.axes.T
    assert np.allclose(codes.std(axis=0), space.deviations, rtol=0.06)
    assert (centred - codes @ space.axes).std() < 0.5, "the rest is only rounding"


def test_a_mixture_finds_the_clusters() -> None:
    rng = make_rng(2)
    dark, light = (rng.normal(level, 3, (40, 6, 6, 3)) for level in (60, 190))
    images = mixture(np.concatenate([dark, light]).astype(np.uint8), 200, rng, rank=1, parts=2)
    level = images.mean(axis=(1, 2, 3))
    assert ((level > 110) & (level < 140)).mean() < 0.02, "a single normal distribution would have a quarter there"
    assert 70 <= (level < 125).sum() <= 130


@pytest.mark.parametrize("count", [40, 41])
def test_half_copied_has_at_most_half_copies(count: int, train: Pixels) -> None:
    images = half_copied(train, count, make_rng(), rank=20)
    known = to_byte_set(train)
    copied = [image.tobytes() in known for image in images]
    assert sum(copied) == count // 2
    assert any(copied[: count // 2]), "the copies are not all in one half"
    assert any(copied[count // 2 :])


@pytest.mark.parametrize(
    "generate",
    [
        lambda train, rng: gaussian(train, 50, rng, rank=10),
        lambda train, rng: noisy(train, 50, rng, deviation=6.0),
        lambda train, rng: blended(train, 50, rng, max_share=0.8),
        lambda train, rng: one_hot(train, 50, rng, ridge=0.1),
    ],
)
def test_the_batch_size_changes_nothing(
    generate: Callable[[Pixels, np.random.Generator], Pixels], train: Pixels, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_one_batch = generate(train, make_rng())
    monkeypatch.setattr(generators, "BATCH", 7)
    in_batches = generate(train, make_rng())
    assert np.abs(in_one_batch.astype(int) - in_batches).max() <= 1, "only the rounding of a matrix product differs"


def test_a_large_training_set_is_subsampled_before_a_fit(train: Pixels, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generators, "MAX_FITTED_IMAGES", 20)
    space = fit_pixel_space(train, None, make_rng())
    assert len(space.codes) == 20
    assert share_in(decode_codes(space, space.codes), train) == 1
