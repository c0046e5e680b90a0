"""Near duplicates by perceptual hashes: every pair by search; training images that shine through others."""

import numpy as np
import pytest

from scorer.errors import Invalid
from scorer.findings.duplicates import hash_copies_finding
from scorer.metrics.copying import near_hashes
from scorer.metrics.copying.near_duplicates import Originals, near_duplicates
from scorer.metrics.copying.near_hashes import NEIGHBOURS, hash_originals
from scorer.metrics.copying.perceptual_hashes import (
    PerceptualHashes,
    hamming_distances,
    mirror_hashes,
    perceptual_hashes,
)
from scorer.metrics.copying.thumbnails import Pixels

SIZE = 48


def photographs(seed: int, count: int) -> Pixels:
    """Images whose frequencies fade as those of photographs do."""
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
    """Every pair, one by one."""
    both = np.stack([hamming_distances(hashes[:, None], each) for each in (training, mirror_hashes(training))])
    bits = both.min(axis=0)
    mean = np.sort(bits, axis=1)[:, :NEIGHBOURS].mean(axis=1)
    index = bits.argmin(axis=1)
    rows = np.arange(len(bits))
    return Originals(bits.min(axis=1) / mean, index, both[1, rows, index] < both[0, rows, index])


def test_it_is_what_a_search_finds_in_blocks_of_any_height(monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_a_training_image_that_shines_through_another_is_found() -> None:
    training, others = photographs(1, 400)[:100], photographs(4, 100)
    blended = np.rint(0.5 * training + 0.5 * others).astype(np.uint8)
    found = near_duplicates(hash_originals(perceptual_hashes(blended), TRAINING), HELD_OUT)
    assert found.closeness.share > 0.9
    assert {each.generated for each in found.examples} == {each.reference for each in found.examples}
    assert "shows through" in hash_copies_finding(found).sentence
    honest = near_duplicates(hash_originals(perceptual_hashes(others), TRAINING), HELD_OUT)
    assert honest.closeness.share < 0.05
    assert hash_copies_finding(honest).sentence.endswith("nothing out of the ordinary.")


def test_images_without_a_hash_say_nothing() -> None:
    grey = np.full((3, SIZE, SIZE, 3), 90, np.uint8)
    found = hash_originals(perceptual_hashes(grey), TRAINING)
    assert found.distance.tolist() == [1.0] * 3
    assert not found.mirrored.any()
    some = np.concatenate([np.zeros((4, 8), np.uint32), TRAINING[:3]])
    assert hash_originals(TRAINING[:3], some).index.tolist() == [4, 5, 6]
    with pytest.raises(Invalid) as refused:
        hash_originals(TRAINING, some[:5])
    assert refused.value.slug == "too-few-images"
    spoilt = near_duplicates(found, hash_originals(TRAINING[:50], TRAINING))
    assert hash_copies_finding(spoilt).value is None
