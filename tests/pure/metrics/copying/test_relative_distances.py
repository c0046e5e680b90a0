"""Relative distances: the definition, and mixtures with altered copies that plain distances cannot detect."""

import numpy as np
import pytest
from numpy.typing import NDArray

from scorer.findings.duplicates import relative_copies_finding
from scorer.metrics.copying.near_duplicates import (
    LOWER_TAIL,
    NEIGHBOURS,
    Originals,
    near_duplicates,
    relative_originals,
)
from scorer.metrics.copying.partial_copying import partial_copying
from scorer.metrics.euclidean import Neighbours, neighbours
from tests.pure.oracles import squared_distances

DIMENSION = 6


def photographs(seed: int, count: int) -> NDArray[np.float64]:
    """Images of one law at different scales, so plain distances show little."""
    random = np.random.default_rng(seed)
    return random.standard_normal((count, DIMENSION)) * random.lognormal(0.0, 1.0, (count, 1))


TRAINING, HELD_OUT = photographs(1, 1000), photographs(2, 400)


def relative(images: NDArray[np.float64]) -> Originals:
    return relative_originals(neighbours(images, TRAINING, k=NEIGHBOURS))


def altered(seed: int, count: int) -> NDArray[np.float64]:
    """Copies changed by 30 % of their size."""
    random = np.random.default_rng(seed)
    rows = TRAINING[random.integers(0, len(TRAINING), count)]
    size = np.linalg.norm(rows, axis=1, keepdims=True) / np.sqrt(DIMENSION)
    return np.asarray(rows + 0.3 * size * random.standard_normal(rows.shape))


def test_relative_distances_match_the_definition() -> None:
    own = photographs(3, 60)
    distances = np.sort(np.sqrt(squared_distances(own, TRAINING)).astype(np.float64), axis=1)[:, :NEIGHBOURS]
    found = relative(own)
    np.testing.assert_allclose(found.distance, distances[:, 0] / distances.mean(axis=1))
    np.testing.assert_array_equal(found.index, squared_distances(own, TRAINING).argmin(axis=1))
    assert not found.mirrored.any()


def test_copies_have_distance_0_unless_all_neighbours_are_equal() -> None:
    squares = np.array([[0.0, 4.0], [0.0, 0.0], [1.0, 9.0]])
    found = relative_originals(Neighbours(squares, np.array([[5, 1], [2, 3], [7, 8]])))
    assert found.distance.tolist() == [0.0, 1.0, 0.5]
    assert found.index.tolist() == [5, 2, 7]


def test_a_mixture_is_detected_even_if_plain_distances_show_nothing() -> None:
    held_out = relative(HELD_OUT)
    mixture = np.concatenate([altered(4, 100), photographs(5, 300)])
    found = near_duplicates(relative(mixture), held_out.distance, rare=LOWER_TAIL)
    assert found.closeness.p_value < 1e-4
    assert "altered copies among other images looks like this." in relative_copies_finding(found).sentence
    plain = [np.sqrt(neighbours(images, TRAINING).squares[:, 0]) for images in (mixture, HELD_OUT)]
    assert partial_copying(*plain).p_value > 0.01
    # The examples are copies.
    assert all(example.generated < 100 for example in found.examples[:5])


def test_honest_entries_are_flagged_at_the_rate_of_the_p_value() -> None:
    """Each of 400 entries has newly drawn held-out images. For about 20 of them, p is below 5 %."""
    pool = relative(photographs(6, 20000)).distance
    random = np.random.default_rng(7)
    flagged = 0
    for _ in range(400):
        rows = random.permutation(len(pool))
        flagged += partial_copying(pool[rows[:300]], pool[rows[300:700]], rare=LOWER_TAIL).p_value < 0.05
    assert 5 <= flagged <= 31  # 99 % of such counts are within these limits


def test_the_finding_distinguishes_none_few_and_many_copies() -> None:
    held_out = relative(HELD_OUT)
    honest = near_duplicates(relative(photographs(8, 300)), held_out.distance, rare=LOWER_TAIL)
    assert relative_copies_finding(honest).sentence.endswith("may be chance.")
    assert relative_copies_finding(honest).value == pytest.approx(honest.closeness.share)
    same = near_duplicates(relative(HELD_OUT), relative(TRAINING[:50]).distance, rare=LOWER_TAIL)
    assert relative_copies_finding(same).value is None
    assert "also training images" in relative_copies_finding(same).sentence
    many = relative(photographs(9, 4000))
    distances = np.where(np.arange(4000) < 250, 0.0, np.maximum(many.distance, held_out.distance.min()))
    few = near_duplicates(Originals(distances, many.index, many.mirrored), held_out.distance, rare=LOWER_TAIL)
    assert few.closeness.p_value < 0.01
    margin = 0.05 * (1 - few.closeness.expected)
    expected = (
        "There are more of them than chance explains, but still few."
        if few.closeness.share - few.closeness.expected < margin
        else "looks like this."
    )
    assert relative_copies_finding(few).sentence.endswith(expected)
