"""Near duplicates of training images and within an entry: planted copies, groups from a search, and chance. Also the
choice of near training and held-out images."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scorer.metrics import pairing
from scorer.metrics.copying.latent_recovery import kolmogorov_smirnov
from scorer.metrics.copying.near_duplicates import NearDuplicate, Originals, near_duplicates, originals_of
from scorer.metrics.copying.near_targets import choose_near_targets
from scorer.metrics.copying.partial_copying import PartialCopying, partial_copying
from scorer.metrics.memorization import Nearest, nearest
from tests.examples import examples
from tests.pure.oracles import groups_by_search
from tests.pure.own_passes import internal_duplicates


def photographs(seed: int, count: int, dimension: int = 24) -> Any:
    return np.abs(np.random.default_rng(seed).standard_normal((count, dimension))).astype(np.float32)


def noise(seed: int, like: Any, scale: float = 1e-3) -> Any:
    return (like * (1.0 + scale * np.random.default_rng(seed).standard_normal(like.shape))).astype(np.float32)


def limited(limit: float) -> PartialCopying:
    """A limit that 3 of 300 held-out images reach."""
    return partial_copying(np.ones(2), np.concatenate([np.full(3, limit), np.full(297, 1.0)]))


# Against the training images


def test_planted_copies_are_found_upright_and_mirrored() -> None:
    upright, mirrored, held_out_images, own = (
        photographs(seed, count) for seed, count in enumerate((400, 400, 300, 200))
    )
    own[10:20], own[30:35] = noise(4, upright[:10]), noise(5, mirrored[[7, 50, 51, 52, 52]])
    held_out = originals_of(nearest(held_out_images, upright), nearest(held_out_images, mirrored)).distance
    duplicates = near_duplicates(originals_of(nearest(own, upright), nearest(own, mirrored)), held_out)
    chance = duplicates.closeness.below - 15
    assert 0 <= chance < 10
    assert 5 <= duplicates.mirrored <= 5 + chance
    assert 13 <= duplicates.originals <= 13 + chance
    assert duplicates.most_copied is not None
    assert duplicates.most_copied[1] == 2
    assert duplicates.closeness.p_value < 1e-3
    planted = {(row, row - 10, False) for row in range(10, 20)} | {(31, 50, True), (32, 51, True)}
    assert {(example.generated, example.reference, example.mirrored) for example in duplicates.examples} & planted
    assert len(duplicates.examples) == len({example.reference for example in duplicates.examples}) == 12
    assert [example.distance for example in duplicates.examples] == sorted(
        example.distance for example in duplicates.examples
    )
    without = near_duplicates(
        originals_of(nearest(own, upright), nearest(own, upright)), nearest(held_out_images, upright).distance
    )
    assert without.mirrored == 0
    assert without.closeness.below < duplicates.closeness.below


def test_the_nearer_direction_counts_and_a_tie_is_upright() -> None:
    one, other = Nearest(np.array([0.1, 0.3, 0.2]), np.arange(3)), Nearest(np.array([0.2, 0.1, 0.2]), np.arange(5, 8))
    originals = originals_of(one, other)
    assert originals.distance.tolist() == [0.1, 0.1, 0.2]
    assert originals.index.tolist() == [0, 6, 2]
    assert originals.mirrored.tolist() == [False, True, False]
    copies = near_duplicates(originals, np.full(9, 0.15))
    assert copies.examples == (NearDuplicate(0, 0, 0.1, False), NearDuplicate(1, 6, 0.1, True))


def test_no_copies_at_all() -> None:
    apart = Originals(np.full(5, 0.5), np.arange(5), np.zeros(5, np.bool_))
    duplicates = near_duplicates(apart, apart.distance)
    assert (duplicates.closeness.below, duplicates.originals, duplicates.most_copied, duplicates.examples) == (
        0,
        0,
        None,
        (),
    )


# Within the entry


@given(seed=st.integers(0, 2**32 - 1), count=st.integers(2, 40), limit=st.floats(0.001, 0.5))
@settings(max_examples=examples(40), deadline=None)
def test_groups_match_those_of_a_search(seed: int, count: int, limit: float) -> None:
    own = photographs(seed, count, 3)
    unit = own.astype(np.float64) / np.linalg.norm(own.astype(np.float64), axis=1, keepdims=True)
    distances = 1.0 - unit @ unit.T
    np.fill_diagonal(distances, 1.0)
    if (np.abs(distances - limit) < 1e-6).any():
        return  # the result would depend on the rounding of unit rows
    duplicates = internal_duplicates(own, limited(limit), 1000)
    expected = groups_by_search(distances < limit)
    assert duplicates.group.tolist() == [sorted(set(expected)).index(first) for first in expected]
    assert duplicates.pairs == int((distances < limit).sum()) // 2
    alike = distances < limit
    shares = [np.delete(np.delete(alike, row, 0), row, 1).any(axis=1).mean() for row in range(count)]
    jackknife = np.sqrt((count - 1) / count * np.square(np.subtract(shares, np.mean(shares))).sum())
    assert duplicates.standard_error == pytest.approx(jackknife, abs=1e-12)


def test_the_strip_size_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    own = photographs(0, 90, 3)
    whole = internal_duplicates(own, limited(0.01), 1000)
    monkeypatch.setattr(pairing, "_STRIP_ROWS", 7)
    duplicates = internal_duplicates(own, limited(0.01), 1000)
    np.testing.assert_array_equal(duplicates.group, whole.group)
    assert duplicates.pairs == whole.pairs


def test_a_collapsed_generator() -> None:
    own = np.concatenate([photographs(1, 50), noise(2, np.repeat(photographs(3, 2), (30, 20), axis=0), 1e-4)])
    duplicates = internal_duplicates(own, limited(1e-4), 1000)
    assert (duplicates.images, duplicates.groups, duplicates.pairs) == (50, 2, 30 * 29 // 2 + 20 * 19 // 2)
    assert duplicates.share == 0.5
    assert duplicates.standard_error == pytest.approx(0.5 / np.sqrt(99))  # an image is in a group or not
    assert duplicates.p_value < 1e-12
    assert duplicates.examples(groups=5, images=3) == ((50, 51, 52), (80, 81, 82))


def test_many_copies_of_one_image_are_one_group() -> None:
    duplicates = internal_duplicates(np.repeat(photographs(4, 1), 500, axis=0), limited(1e-6), 1000)
    assert (duplicates.groups, duplicates.images, duplicates.pairs) == (1, 500, 500 * 499 // 2)


def test_photographs_repeat_as_often_as_expected() -> None:
    results = []
    for seed in range(0, 150, 3):
        training, held_out_images, own = (
            photographs(seed + step, count, 16) for step, count in enumerate((300, 200, 250))
        )
        distances = nearest(held_out_images, training).distance
        results.append(internal_duplicates(own, partial_copying(distances, distances, rare=0.05), 300))
    assert np.mean([result.pairs for result in results]) == pytest.approx(
        np.mean([result.expected_pairs for result in results]), rel=0.3
    )
    assert np.mean([result.p_value < 0.05 for result in results]) < 0.15
    assert 0.3 < np.mean([result.p_value for result in results]) < 0.7


def test_with_a_limit_of_zero_no_images_are_near_duplicates() -> None:
    duplicates = internal_duplicates(np.repeat(photographs(5, 1), 9, axis=0), limited(0.0), 10)
    assert (duplicates.pairs, duplicates.images) == (0, 0)


def test_near_images_of_both_kinds_are_below_one_distance() -> None:
    random = np.random.default_rng(0)
    train, held_out = random.random(5000), random.random(400)
    near = choose_near_targets(train, held_out, 50, random=random)
    assert near is not None
    limit = np.sort(held_out)[50]
    assert np.array_equal(near.held_out, np.flatnonzero(held_out < limit))
    assert (len(near.train), len(near.held_out), near.held_out_share) == (50, 50, 0.125)
    assert (train[near.train] < limit).all()
    assert len(set(near.train)) == 50
    assert (np.diff(near.train) > 0).all()


def test_the_test_on_near_images_holds_its_level() -> None:
    """If nothing is memorised, p is below 5 % in 5 % of cases, although near images are easier to recover and there are
    ten times as many training images. A comparison of the nearest training images would raise mostly false alarms."""
    false_alarms = naive_alarms = 0
    for seed in range(200):
        random = np.random.default_rng(seed)
        distances = random.random(2000), random.random(200)
        train, held_out = (values + 0.2 * random.random(len(values)) for values in distances)  # the recovery errors
        near = choose_near_targets(*distances, 50, random=random)
        assert near is not None
        false_alarms += kolmogorov_smirnov(train[near.train], held_out[near.held_out]).p_value < 0.05
        nearest = np.argsort(distances[0])[:50]
        naive_alarms += kolmogorov_smirnov(train[nearest], held_out[near.held_out]).p_value < 0.05
    assert false_alarms <= 18  # 99.5 % of B(200, 0.05)
    assert naive_alarms > 100


def test_memorised_images_are_among_the_near_ones() -> None:
    """The entry copies 2 % of 5,000 training images. They are over 15 % of the near images."""
    random = np.random.default_rng(1)
    train, held_out = random.random(5000), random.random(1000)
    train[:100] = 0.0
    near = choose_near_targets(train, held_out, 50, random=random)
    assert near is not None
    assert (near.train < 100).mean() > 0.15


def test_too_few_near_images_give_none() -> None:
    random = np.random.default_rng(0)
    assert choose_near_targets(random.random(500), random.random(31), 50, random=random) is None, "a quarter is 7"
    assert choose_near_targets(random.random(500), random.random(32), 50, random=random) is not None
    assert choose_near_targets(1.0 + random.random(500), random.random(500), 50, random=random) is None
    assert choose_near_targets(random.random(500), np.zeros(500), 50, random=random) is None, "all equally near"
