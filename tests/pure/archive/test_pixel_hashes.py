"""Pixel hashes: equal pixels have equal hashes. They find copies of training images and exact duplicates within a zip,
upright and mirrored."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scorer.archive import (
    ExactDuplicates,
    find_exact_duplicates,
    find_training_image_copies,
    hash_pixels,
    mirror_images,
)
from scorer.findings.duplicates import exact_duplicates_findings
from tests.pure.archive.broken_files import random_images


def test_images_have_the_same_hash_exactly_if_their_pixels_are_equal() -> None:
    images = random_images(20)
    images[7] = images[3]
    images[11] = images[3]
    images[11, 7, 7, 2] ^= 1
    hashes = hash_pixels(images)
    assert (hashes.shape, hashes.dtype.name) == ((20, 16), "uint8")
    assert len({row.tobytes() for row in hashes}) == 19
    np.testing.assert_array_equal(hashes[7], hashes[3])


def test_a_hash_does_not_depend_on_the_memory_layout() -> None:
    images = random_images(5)
    np.testing.assert_array_equal(hash_pixels(np.asfortranarray(images)), hash_pixels(images))
    np.testing.assert_array_equal(hash_pixels(mirror_images(mirror_images(images))), hash_pixels(images))


def test_only_8_bit_pixels_are_hashed() -> None:
    with pytest.raises(TypeError, match="float32"):
        hash_pixels(random_images(1).astype(np.float32))


def test_mirroring_swaps_only_left_and_right() -> None:
    images = random_images(2)
    np.testing.assert_array_equal(mirror_images(images)[1, 3, 0], images[1, 3, 7])
    np.testing.assert_array_equal(mirror_images(images)[:, 2, 5], images[:, 2, 2])


def test_copies_are_counted_and_traced_to_the_first_equal_reference() -> None:
    reference = random_images(6, seed=1)
    reference[5] = reference[2]
    images = random_images(8, seed=2)
    images[0] = reference[5]
    images[3] = reference[4]
    images[6] = mirror_images(reference)[1]
    copies = find_training_image_copies(
        hash_pixels(images), hash_pixels(reference), hash_pixels(mirror_images(reference))
    )
    assert (copies.exact, copies.mirrored, copies.share) == (2, 1, 3 / 8)
    assert copies.exact_index.tolist() == [2, -1, -1, 4, -1, -1, -1, -1]


def test_a_copy_of_a_symmetric_image_counts_once() -> None:
    reference = random_images(1)
    reference[:, :, 4:] = mirror_images(reference[:, :, :4])
    hashes = hash_pixels(reference)
    copies = find_training_image_copies(hashes, hashes, hash_pixels(mirror_images(reference)))
    assert (copies.exact, copies.mirrored, copies.share) == (1, 0, 1.0)


def test_hashes_that_end_in_zeros_are_distinguished() -> None:
    one, other = np.zeros((2, 1, 16), np.uint8)
    one[0, 0] = other[0, 0] = other[0, 1] = 7
    assert find_training_image_copies(one, other, other).exact == 0


def test_no_images_have_no_share_of_copies() -> None:
    none = np.zeros((0, 16), np.uint8)
    assert find_training_image_copies(none, hash_pixels(random_images(2)), none).share == 0.0


def find_duplicates(images: np.ndarray[tuple[int, ...], np.dtype[np.uint8]]) -> ExactDuplicates:
    return find_exact_duplicates(hash_pixels(images), hash_pixels(mirror_images(images)))


@given(st.lists(st.lists(st.integers(0, 1), min_size=3, max_size=3), max_size=9))
def test_duplicates_are_those_of_a_comparison_of_every_pair(rows: list[list[int]]) -> None:
    """Many three-pixel images are equal, mirrored or symmetric."""
    images = np.repeat(np.array(rows, np.uint8).reshape(len(rows), 1, 3, 1), 3, axis=3)
    duplicates = find_duplicates(images)
    same = [sum(other == row for other in rows) > 1 for row in rows]
    flipped = [
        not alike and any(other == row[::-1] for place, other in enumerate(rows) if place != own)
        for own, (row, alike) in enumerate(zip(rows, same, strict=True))
    ]
    assert (duplicates.identical, duplicates.mirrored, duplicates.count) == (sum(same), sum(flipped), len(rows))
    assert sorted(place for group in duplicates.groups for place in group) == np.flatnonzero(same).tolist()
    assert all(rows[one] == rows[other][::-1] for one, other in duplicates.mirrored_pairs)
    sizes = [len(group) for group in duplicates.groups]
    assert sizes == sorted(sizes, reverse=True)
    identical_finding, mirrored_finding = exact_duplicates_findings(duplicates)
    assert (identical_finding.value, mirrored_finding.value) == (duplicates.identical, duplicates.mirrored)
    assert ("No two" in identical_finding.sentence) == (not any(same))
