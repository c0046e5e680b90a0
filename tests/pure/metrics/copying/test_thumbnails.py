"""Thumbnails: the mean of each square at any size, near duplicates that blur hides from extractors, and sentences."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scorer.archive.pixel_hashes import mirror_images
from scorer.errors import Invalid
from scorer.findings.duplicates import thumbnail_copies_finding
from scorer.metrics.copying.near_duplicates import near_duplicates
from scorer.metrics.copying.thumbnails import MIN_CONTRAST, contrast_of, thumbnail_originals, thumbnails_of
from tests.examples import examples
from tests.factories import noise_images

GREY_LEVELS = np.sqrt(192)


@pytest.mark.parametrize("size", [8, 16, 20, 5])
def test_a_pixel_is_the_mean_of_its_square(size: int) -> None:
    images = noise_images(1, 3, size)
    fine = images.repeat(8, axis=1).repeat(8, axis=2).astype(np.float64)
    means = fine.reshape(3, 8, size, 8, size, 3).mean((2, 4)).transpose(0, 3, 1, 2)
    made = thumbnails_of(images)
    assert made.dtype == np.float32
    assert made.reshape(3, 3, 8, 8) * GREY_LEVELS == pytest.approx(means, rel=1e-6)
    assert thumbnails_of(images.astype(np.float32)) == pytest.approx(made, rel=1e-6)
    assert (thumbnails_of(images, mirrored=True) == thumbnails_of(mirror_images(images))).all()


@settings(max_examples=examples(20), deadline=None)
@given(st.integers(0, 2**31), st.floats(0.2, 5.0), st.integers(-200, 200))
def test_colour_and_contrast_do_not_change_distances(seed: int, contrast: float, colour: int) -> None:
    images = noise_images(seed, 5)
    mean = images.mean(axis=(1, 2), keepdims=True)
    other = ((images - mean) * contrast + mean + colour).astype(np.float32)
    actual_contrast = contrast_of(thumbnails_of(images))
    lost = np.abs(
        contrast * actual_contrast / (contrast * actual_contrast + MIN_CONTRAST)
        - actual_contrast / (actual_contrast + MIN_CONTRAST)
    )
    originals = thumbnail_originals(thumbnails_of(other), *_both(images))
    assert originals.distance == pytest.approx(lost, abs=1e-4)
    assert originals.index.tolist() == [0, 1, 2, 3, 4]
    unrelated = thumbnail_originals(thumbnails_of(noise_images(seed + 1, 5)), *_both(images))
    assert (unrelated.distance > 0.9).all()
    assert (unrelated.distance < np.sqrt(2.0)).all()


@settings(max_examples=examples(20), deadline=None)
@given(st.integers(0, 2**31))
def test_equal_images_have_distance_0(seed: int) -> None:
    images = noise_images(seed, 5)
    same = thumbnail_originals(thumbnails_of(images[::-1]), *_both(images))
    assert same.distance.tolist() == [0.0] * 5
    assert same.index.tolist() == [4, 3, 2, 1, 0]
    assert not same.mirrored.any()


def _both(images: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return thumbnails_of(images), thumbnails_of(images, mirrored=True)


def shapes(seed: int, count: int) -> np.ndarray:
    """Images of 4 x 4 coloured squares, with large structures like photographs."""
    return noise_images(seed, count, 4).repeat(4, axis=1).repeat(4, axis=2)


def test_blurred_noisy_and_mirrored_copies_are_found_but_not_new_images() -> None:
    training = shapes(1, 300)
    held_out = thumbnail_originals(thumbnails_of(shapes(2, 200)), *_both(training))
    blurred = (training[:20].astype(int) + np.roll(training[:20], 1, axis=1) + np.roll(training[:20], 1, axis=2)) // 3
    grainy = np.clip(training[20:40] + np.random.default_rng(1).normal(0, 20, (20, 16, 16, 3)), 0, 255)
    turned = mirror_images(training[40:50])
    entry = np.concatenate([blurred, grainy, turned, shapes(3, 50)]).astype(np.uint8)
    duplicates = near_duplicates(thumbnail_originals(thumbnails_of(entry), *_both(training)), held_out.distance)
    assert 50 <= duplicates.closeness.below <= 53
    assert 10 <= duplicates.mirrored <= 12
    finding = thumbnail_copies_finding(duplicates)
    assert finding.name == "thumbnail_copies"
    assert "of 100 images" in finding.sentence
    assert "of them mirrored" in finding.sentence
    assert finding.sentence.endswith("recoloured or passed through a network look like this.")
    honest = near_duplicates(thumbnail_originals(thumbnails_of(shapes(4, 100)), *_both(training)), held_out.distance)
    assert thumbnail_copies_finding(honest).sentence.endswith("may be chance.")
    uninformative = near_duplicates(
        held_out, thumbnail_originals(thumbnails_of(training[:30]), *_both(training)).distance
    )
    assert thumbnail_copies_finding(uninformative).value is None


def test_examples_show_images_with_contrast_first() -> None:
    flat = np.full((3, 16, 16, 3), [[[[90]]], [[[120]]], [[[150]]]], np.uint8)
    training = np.concatenate([shapes(1, 50), flat])
    entry = np.concatenate([flat, np.clip(training[:5].astype(int) + 3, 0, 255).astype(np.uint8)])
    small = thumbnails_of(entry)
    contrast = contrast_of(small)
    assert contrast[:3].tolist() == [0.0] * 3
    assert contrast[3] == pytest.approx(np.sqrt(entry[3].reshape(8, 2, 8, 2, 3).mean((1, 3)).var((0, 1)).mean()), 1e-6)
    own = thumbnail_originals(small, *_both(training))
    held_out = thumbnail_originals(thumbnails_of(shapes(2, 200)), *_both(training))
    duplicates = near_duplicates(own, held_out.distance, order_by=(own.distance + 0.1) / (contrast + 1.0))
    assert duplicates.examples[-1].generated == 0, "images of one colour come last"
    assert len(duplicates.examples) == 6, "they occur once, because training images of one colour have equal thumbnails"
    assert near_duplicates(own, held_out.distance).examples[0].generated == 0


def test_the_sentence_reports_few_copies() -> None:
    training = shapes(1, 300)
    held_out = thumbnail_originals(thumbnails_of(shapes(2, 1000)), *_both(training))
    entry = np.concatenate([training[:30], shapes(3, 970)])
    duplicates = near_duplicates(thumbnail_originals(thumbnails_of(entry), *_both(training)), held_out.distance)
    assert (
        "There are more of them than chance explains, but still few." in thumbnail_copies_finding(duplicates).sentence
    )


def test_progress_and_refused_images() -> None:
    shares: list[float] = []
    made = thumbnails_of(noise_images(1, 300, 8), progress=shares.append)
    assert shares == [pytest.approx(256 / 300), 1.0]
    shares.clear()
    thumbnail_originals(made, made, made, progress=shares.append)
    assert (sorted(shares), shares[-1]) == (shares, 1.0)
    for wrong in (noise_images(1).astype(float), noise_images(1)[0], noise_images(1)[:, :8]):
        with pytest.raises(Invalid, match="square RGB"):
            thumbnails_of(wrong)
