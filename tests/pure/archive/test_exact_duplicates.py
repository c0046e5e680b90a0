"""Exact duplicates within a zip, upright or mirrored, against a search through all pairs."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from scorer.archive import ExactDuplicates, find_exact_duplicates, hash_pixels, mirror_images
from scorer.findings.duplicates import exact_duplicates_findings


def duplicates_of(images: np.ndarray[tuple[int, ...], np.dtype[np.uint8]]) -> ExactDuplicates:
    return find_exact_duplicates(hash_pixels(images), hash_pixels(mirror_images(images)))


@given(st.lists(st.lists(st.integers(0, 1), min_size=3, max_size=3), max_size=9))
def test_against_every_pair(rows: list[list[int]]) -> None:
    """Of three-pixel images many are equal, many mirrored, and many their own mirror image."""
    images = np.repeat(np.array(rows, np.uint8).reshape(len(rows), 1, 3, 1), 3, axis=3)
    duplicates = duplicates_of(images)
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
    same_told, flipped_told = exact_duplicates_findings(duplicates)
    assert (same_told.value, flipped_told.value) == (duplicates.identical, duplicates.mirrored)
    assert ("No two" in same_told.sentence) == (not any(same))
