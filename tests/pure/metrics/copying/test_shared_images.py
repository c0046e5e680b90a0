"""Shared images compared with a search of all pairs, entries that share 30 %, and images of many teams."""

import hashlib
from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from scorer.archive.pixel_hashes import hash_pixels, mirror_images
from scorer.metrics.copying import shared_images
from scorer.metrics.copying.perceptual_hashes import hamming_distances, mirror_hashes, perceptual_hashes
from scorer.metrics.copying.shared_images import (
    MAX_DISTANCE,
    EntryComparison,
    ImageHashes,
    ImageTables,
    OtherEntry,
    compare_entry,
)
from tests.factories import noise_images

Images = NDArray[np.uint8]


def compute_hashes(images: Images) -> ImageHashes:
    return ImageHashes.of(hash_pixels(images), hash_pixels(mirror_images(images)), perceptual_hashes(images))


def test_hashes_stay_equal_to_stored_ones() -> None:
    """New hashes are compared with hashes that were stored years ago."""
    images = np.random.default_rng(0).integers(0, 256, (3, 32, 32, 3), dtype=np.uint8)
    found = hashlib.sha256(np.ascontiguousarray(compute_hashes(images).array).tobytes()).hexdigest()
    expected = "96dcd8d11d3f3871f052220dad48dfe41856e6d2b53f5a1e3e16c6fbb9c9ea00"
    assert found == expected, "store the image-hashes/ blobs under another address, and rehash all entries"


def random_hashes(seed: int, count: int) -> NDArray[np.uint32]:
    return np.random.default_rng(seed).integers(0, 2**32, (10, count), dtype=np.uint32)


def compared(own: ImageHashes, others: Sequence[tuple[int, ImageHashes]]) -> EntryComparison:
    """The comparison with entries of these teams, which get the refs 0, 1, ..."""
    return compare_entry(own, (OtherEntry(ref, team, hashes) for ref, (team, hashes) in enumerate(others)))


def with_flips(words: NDArray[np.uint32], seed: int, most: int) -> NDArray[np.uint32]:
    """The words (8, n) with up to ``most`` random bits flipped per image."""
    random = np.random.default_rng(seed)
    bits = np.unpackbits(np.ascontiguousarray(words.T).view(np.uint8), axis=1, bitorder="little")
    for row, count in zip(bits, random.integers(0, most + 1, len(bits)), strict=True):
        row[random.choice(256, count, replace=False)] ^= 1
    return np.packbits(bits, axis=1, bitorder="little").view("<u4").T


def test_pairs_within_15_bits_are_found_and_none_above_31() -> None:
    own = random_hashes(1, 300)
    others = [random_hashes(2 + number, 300) for number in range(2)]
    for number, array in enumerate(others):
        array[2:, :200] = with_flips(own[2:, :200], number, 15 if number == 0 else 60)
        array[2:, :50] = mirror_hashes(np.ascontiguousarray(array[2:, :50].T)).T
        array[:2, 250:260] = own[:2, 100:110]
    hashes, others_hashes = ImageHashes(own), [ImageHashes(array) for array in others]
    for number, found in enumerate(ImageTables(hashes).shared_with(others_hashes)):
        words, other_words = own[2:].T, others[number][2:].T
        distances = np.minimum(
            hamming_distances(words[:, None], other_words),
            hamming_distances(mirror_hashes(words)[:, None], other_words),
        )
        near = found.distance >= 0
        assert (distances[found.own[near], found.other[near]] == found.distance[near]).all()
        assert found.distance.max() <= MAX_DISTANCE
        assert found.equal == 10
        assert sorted(found.own[~near]) == list(range(100, 110))
        assert sorted(found.other[~near]) == list(range(250, 260))
        assert len(set(found.own.tolist())) == len(set(found.other.tolist())) == len(found)
        pairs = set(zip(found.own.tolist(), found.other.tolist(), strict=True))
        certain = {(i, i) for i in range(200) if distances[i, i] <= 15} - {(i, i) for i in range(100, 110)}
        assert certain <= pairs
        assert len(certain) > (180 if number == 0 else 30)


def test_two_entries_of_one_generator_share_30_percent() -> None:
    """Of 200 images 20 are equal, 20 mirrored and 20 altered. The others are different images of the generator."""
    own, other, stranger = (noise_images(seed, 200, 32).repeat(2, axis=1).repeat(2, axis=2) for seed in (1, 2, 3))
    other[:20] = own[20:40]
    other[20:40] = mirror_images(own[40:60])
    other[40:60] = np.clip(own[60:80].astype(int) + 3, 0, 255)
    comparison = compared(compute_hashes(own), [(1, compute_hashes(stranger)), (2, compute_hashes(other))])
    assert list(comparison.shared) == [1], "the unrelated entry shares nothing"
    assert comparison.compared == 2
    shared = comparison.shared[1]
    assert len(shared) / 200 == pytest.approx(0.3)
    assert shared.equal == 40
    assert dict(zip(shared.own.tolist(), shared.other.tolist(), strict=True)) == {20 + i: i for i in range(60)}
    assert not comparison.common.any()


def test_an_image_of_many_teams_is_in_no_pair(monkeypatch: pytest.MonkeyPatch) -> None:
    """All entries of one team count once, so a team cannot make its shared images common."""
    monkeypatch.setattr(shared_images, "MAX_TEAMS", 2)
    own = random_hashes(1, 100)
    crowd = []
    for team in (1, 2, 3):
        array = random_hashes(10 + team, 100)
        array[:, :10] = own[:, :10]
        crowd.append((team, ImageHashes(array)))
    array = random_hashes(20, 100)
    array[:, :30] = own[:, :30]
    series = [(4, ImageHashes(array))] * 5
    comparison = compared(ImageHashes(own), [*crowd, *series])
    assert np.flatnonzero(comparison.common).tolist() == list(range(10))
    assert {ref: len(shared) for ref, shared in comparison.shared.items()} == dict.fromkeys(range(3, 8), 20)
    assert not compared(ImageHashes(own), [*crowd[:2], *series[:0]]).common.any()


def test_a_repeated_image_is_shared_once() -> None:
    own, other = random_hashes(1, 100), random_hashes(2, 100)
    own[:, :40] = own[:, :1]
    other[:, 60:] = own[:, :1]
    comparison = compared(ImageHashes(own), [(1, ImageHashes(other))])
    assert [len(shared) for shared in comparison.shared.values()] == [1]


def test_small_shares_and_all_but_the_largest_pairs_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_images, "MAX_PAIRS", 3)
    own = random_hashes(1, 200)
    others = []
    for number, count in enumerate((1, 2, 9, 5, 4, 7, 3, 6, 8, 2)):
        array = random_hashes(2 + number, 200)
        array[:, :count] = own[:, :count]
        others.append((number, ImageHashes(array)))
    comparison = compared(ImageHashes(own), others)
    assert [(ref, len(shared)) for ref, shared in comparison.shared.items()] == [(2, 9), (8, 8), (5, 7)]
    assert list(compared(ImageHashes(own), others[:2]).shared) == [1], "1 of 200 images is less than 1 %"


def test_images_without_a_hash_are_near_no_image() -> None:
    """Images of one colour have no perceptual hash. Equal ones are still found."""
    own = np.stack([np.full((64, 64, 3), grey, np.uint8) for grey in range(100)])
    other = own[::-1] + np.uint8(1)
    shared = compared(compute_hashes(own), [(1, compute_hashes(other))]).shared[0]
    assert len(shared) == shared.equal == 99
