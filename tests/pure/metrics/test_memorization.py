"""Nearest neighbours by cosine distance: exact to the last bit of float64 with every method of search."""

import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from scorer.errors import Invalid
from scorer.metrics.cosine import TILE_COLUMNS, TILE_ROWS, error_bound, normalise
from scorer.metrics.memorization import ClosestPair, Nearest, closest_pairs, memorization_distance, nearest
from tests.examples import examples
from tests.pure.oracles import golden, nearest_by_definition

Matrix = NDArray[np.float64]


def signed_features(seed: int, count: int, dimension: int) -> Matrix:
    return np.random.default_rng(seed).standard_normal((count, dimension))


def features(seed: int, count: int, dimension: int) -> Matrix:
    """Non-negative features, as after a ReLU and a global average."""
    return np.asarray(np.abs(signed_features(seed, count, dimension)))


def crowd(seed: int, count: int, dimension: int, spread: float) -> Matrix:
    """Rows around one direction, too close to each other for float32 products."""
    middle = np.abs(np.random.default_rng(99).standard_normal(dimension)) + 0.5
    return np.asarray(middle + spread * signed_features(seed, count, dimension))


def assert_as_defined(generated: NDArray[Any], reference: NDArray[Any], *, signed: bool = False) -> Nearest:
    result = nearest(generated, reference, signed=signed)
    distance, index = nearest_by_definition(generated, reference, signed=signed)
    np.testing.assert_array_equal(result.index, index)
    np.testing.assert_allclose(result.distance, distance, rtol=0, atol=1e-14)
    return result


# The value


def test_the_golden_value_and_its_direction() -> None:
    training, generated = golden().training, golden().generated
    assert memorization_distance(generated, training) == pytest.approx(0.1676459858457109, rel=1e-13)
    assert memorization_distance(training, generated) == pytest.approx(0.17331461124324724, rel=1e-13)


def test_the_distance_of_copies_is_zero_only_towards_the_reference() -> None:
    training = features(1, 600, 32).astype(np.float32)
    generated = training[np.random.default_rng(2).integers(0, 600, 300)]
    assert memorization_distance(generated, training) == 0.0
    assert memorization_distance(training, generated) > 0.05


@pytest.mark.parametrize("precision", [np.float32, np.float64])
@pytest.mark.parametrize("scale", [1.0, 4.0, 2.0**-20])
def test_copies_are_at_exactly_zero(precision: type[np.floating[Any]], scale: float) -> None:
    training = signed_features(3, 200, 48).astype(precision)
    result = nearest(training[::-1] * precision(scale), training)
    np.testing.assert_array_equal(result.distance, 0.0)
    np.testing.assert_array_equal(result.index, np.arange(200)[::-1])
    assert result.mean == 0.0


def test_the_opposite_direction_is_near_only_without_sign() -> None:
    reference = np.array([[1.0, 0.0], [0.6, 0.8]])
    generated = np.array([[-1.0, 0.0]])
    unsigned = nearest(generated, reference)
    signed = nearest(generated, reference, signed=True)
    assert (unsigned.index[0], unsigned.distance[0]) == (0, 0.0)
    assert signed.index[0] == 1
    assert signed.distance[0] == pytest.approx(1.6, rel=1e-15)


def test_rounding_never_makes_a_distance_negative() -> None:
    training = features(34, 500, 10)
    result = nearest(training * (1.0 / 3.0), training)
    assert result.distance.min() == 0.0
    assert result.distance.max() < 1e-15


def test_distances_reach_two_with_sign() -> None:
    assert nearest(np.array([[3.0, 4.0]]), np.array([[-3.0, -4.0]]), signed=True).distance[0] == 2.0


@given(
    seed=st.integers(0, 2**32 - 1),
    own=st.integers(1, 40),
    other=st.integers(1, 700),
    dimension=st.integers(1, 40),
    signed=st.booleans(),
)
@settings(max_examples=examples(60), deadline=None)
def test_distances_match_the_definition(seed: int, own: int, other: int, dimension: int, signed: bool) -> None:
    generated, reference = signed_features(seed, own, dimension), signed_features(seed + 1, other, dimension)
    result = nearest(generated, reference, signed=signed)
    distance, index = nearest_by_definition(generated, reference, signed=signed)
    np.testing.assert_allclose(result.distance, distance, rtol=0, atol=1e-14)
    if dimension > 1:  # in one dimension all rows are equally near, except for the last bit of a quotient
        np.testing.assert_array_equal(result.index, index)


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize(
    ("own", "other"),
    [
        (2 * TILE_ROWS + 1, 600),
        (TILE_ROWS + 1, TILE_COLUMNS + 1),
        (50, 2 * TILE_COLUMNS),
        (3, 2 * TILE_COLUMNS + 513),
    ],
)
def test_results_at_tile_borders_are_correct(own: int, other: int, signed: bool) -> None:
    """The test checks every seventh row, and the rows at the borders."""
    generated = signed_features(4, own, 6).astype(np.float32)
    reference = signed_features(5, other, 6).astype(np.float32)
    result = nearest(generated, reference, signed=signed)
    checked = np.unique([*range(0, own, 7), *(row for row in (TILE_ROWS - 1, TILE_ROWS) if row < own), own - 1])
    distance, index = nearest_by_definition(generated[checked], reference, signed=signed)
    np.testing.assert_array_equal(result.index[checked], index)
    np.testing.assert_allclose(result.distance[checked], distance, rtol=0, atol=1e-14)


def test_all_similarities_negative() -> None:
    """The padding of a tile must not win if every cosine is below zero."""
    assert_as_defined(features(6, 30, 5), -features(7, 70, 5), signed=True)


# Exactness


def test_the_error_bound_holds() -> None:
    for dimension in (3, 64, 2048):
        left, right = normalise(features(8, 50, dimension)), normalise(features(9, 400, dimension))
        rough = left.unit(0, 50, np.float32) @ right.unit(0, 400, np.float32).T
        exact = left.unit(0, 50, np.float64) @ right.unit(0, 400, np.float64).T
        assert np.abs(rough - exact).max() < error_bound(dimension, np.float32)
    assert error_bound(2048, np.float32) == pytest.approx(2048 * 2.0**-24, rel=0.01)


@pytest.mark.parametrize("gap", [1e-12, 1e-10, 1e-8, 1e-7])
def test_near_ties_within_float32_noise_are_decided_exactly(gap: float) -> None:
    """Every generated row has a few reference rows around it, at angles that only float64 can order."""
    random = np.random.default_rng(10)
    dimension, rivals = 64, 12
    generated = features(11, 40, dimension)
    reference = np.empty((40, rivals, dimension))
    winner = np.empty(40, np.int64)
    for row, point in enumerate(generated):
        unit = point / np.linalg.norm(point)
        sideways = random.standard_normal((rivals, dimension))
        sideways -= np.outer(sideways @ unit, unit)
        sideways /= np.linalg.norm(sideways, axis=1, keepdims=True)
        order = random.permutation(rivals)
        cosines = 0.95 - gap * order
        reference[row] = cosines[:, None] * unit + np.sqrt(1 - cosines**2)[:, None] * sideways
        winner[row] = row * rivals + int(np.argmin(order))
    result = nearest(generated, reference.reshape(-1, dimension))
    np.testing.assert_array_equal(result.index, winner)
    np.testing.assert_allclose(result.distance, 0.05, rtol=0, atol=1e-14)


@pytest.mark.parametrize("spread", [1e-3, 1e-4, 1e-5])
@pytest.mark.parametrize("signed", [False, True])
def test_rows_with_too_many_candidates_are_recomputed(spread: float, signed: bool) -> None:
    """All products are equal within the rounding of float32, as for an untrained extractor."""
    generated, reference = crowd(12, 700, 24, spread), crowd(13, 900, 24, spread)
    rough = normalise(generated).unit(0, 700, np.float32) @ normalise(reference).unit(0, 900, np.float32).T
    assert rough.max() - rough.min() < 1e-4
    result = assert_as_defined(generated, reference, signed=signed)
    assert np.unique(result.index).size > 100


def test_a_few_crowded_rows_among_others() -> None:
    generated = np.concatenate([features(14, 50, 24), crowd(15, 50, 24, 1e-5)])
    generated = generated[np.random.default_rng(16).permutation(100)]
    reference = np.concatenate([features(17, 300, 24), crowd(18, 300, 24, 1e-5)])
    assert_as_defined(generated, reference)


@pytest.mark.parametrize("copies", [2, 50, 300])
def test_ties_go_to_the_lowest_index(copies: int) -> None:
    """Each reference row occurs many times, scaled by powers of two, in random order."""
    random = np.random.default_rng(19)
    base = features(20, 20, 16)
    which = random.permutation(np.repeat(np.arange(20), copies))
    reference = base[which] * 2.0 ** random.integers(-3, 4, len(which))[:, None]
    result = nearest(base + 0.01 * features(21, 20, 16), reference)
    first = np.array([np.flatnonzero(which == row)[0] for row in range(20)])
    np.testing.assert_array_equal(result.index, first)


def test_a_constant_reference() -> None:
    result = nearest(features(22, 30, 8), np.ones((5000, 8), np.float32))
    np.testing.assert_array_equal(result.index, 0)


@pytest.mark.parametrize("dimension", [7, 130, 1000])
def test_the_bits_do_not_depend_on_the_other_images(dimension: int) -> None:
    """Every image keeps its distance and neighbour alone, in another order, and with reordered references."""
    random = np.random.default_rng(23)
    generated = features(24, 60, dimension).astype(np.float32)
    reference = np.concatenate([features(25, 300, dimension), crowd(26, 100, dimension, 1e-5)]).astype(np.float32)
    whole = nearest(generated, reference)
    order = random.permutation(60)
    shuffled = nearest(generated[order], reference)
    np.testing.assert_array_equal(shuffled.distance, whole.distance[order])
    np.testing.assert_array_equal(shuffled.index, whole.index[order])
    for row in (0, 17, 59):
        alone = nearest(generated[row : row + 1], reference)
        assert (alone.distance[0], alone.index[0]) == (whole.distance[row], whole.index[row])
    renamed = random.permutation(400)
    moved = nearest(generated, reference[renamed])
    np.testing.assert_array_equal(moved.distance, whole.distance)
    np.testing.assert_array_equal(renamed[moved.index], whole.index)


# Symmetries


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=examples(25), deadline=None)
def test_rotation_scale_and_repetition_do_not_matter(seed: int) -> None:
    random = np.random.default_rng(seed)
    generated, reference = signed_features(seed, 30, 12), signed_features(seed + 1, 50, 12)
    s = memorization_distance(generated, reference)
    rotation = np.linalg.qr(random.standard_normal((12, 12)))[0]
    lengths = random.uniform(0.1, 10.0, (30, 1))
    assert memorization_distance(generated @ rotation, reference @ rotation) == pytest.approx(s, rel=1e-11)
    assert memorization_distance(generated * lengths, 7.0 * reference) == pytest.approx(s, rel=1e-11)
    assert memorization_distance(-generated, reference) == s
    twice = np.concatenate([generated, generated])
    assert memorization_distance(twice, np.concatenate([reference, reference])) == pytest.approx(s, rel=1e-13)


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=examples(25), deadline=None)
def test_more_references_never_increase_a_distance(seed: int) -> None:
    generated, reference = features(seed, 20, 10), features(seed + 1, 60, 10)
    assert (nearest(generated, reference).distance <= nearest(generated, reference[:40]).distance).all()


# Storing and refusals


def test_a_stored_reference_gives_the_same_bits(tmp_path: Any) -> None:
    generated, reference = features(27, 40, 16).astype(np.float32), features(28, 90, 16).astype(np.float32)
    np.save(tmp_path / "features.npy", reference)
    mapped = normalise(np.load(tmp_path / "features.npy", mmap_mode="r"))
    result, expected = nearest(normalise(generated), mapped), nearest(generated, reference)
    np.testing.assert_array_equal(result.distance, expected.distance)
    np.testing.assert_array_equal(result.index, expected.index)
    assert result.distance.dtype == np.dtype(np.float64)
    assert result.index.dtype == np.dtype(np.int64)


def test_mean_and_standard_error() -> None:
    result = Nearest(np.array([0.1, 0.2, 0.6]), np.array([0, 1, 2]))
    assert result.mean == pytest.approx(0.3)
    assert result.standard_error == pytest.approx(np.sqrt(0.07 / 3))
    assert Nearest(np.array([0.1]), np.array([0])).standard_error is None


def test_the_closest_pairs() -> None:
    result = Nearest(np.array([0.3, 0.1, 0.2, 0.1]), np.array([5, 6, 7, 8]))
    assert closest_pairs(result, 3) == (ClosestPair(1, 6, 0.1), ClosestPair(3, 8, 0.1), ClosestPair(2, 7, 0.2))
    assert closest_pairs(result, 0) == ()
    assert len(closest_pairs(result, 10)) == 4


@pytest.mark.parametrize("spread", [1.0, 1e-5])
def test_progress_rises_to_one(spread: float) -> None:
    shares: list[float] = []
    nearest(crowd(29, 1200, 8, spread), crowd(30, TILE_COLUMNS + 10, 8, spread), progress=shares.append)
    assert shares == sorted(shares)
    assert 0.0 < shares[0] < shares[-1] == 1.0
    assert len(shares) >= 3


@pytest.mark.parametrize("wrong", [0.0, np.nan, np.inf])
def test_rows_without_a_direction_are_named(wrong: float) -> None:
    good = features(31, 8, 5).astype(np.float32)
    bad = good.copy()
    bad[[3, 6]] = wrong
    with pytest.raises(Invalid, match=r"generated features of 2 image\(s\).*image 3, 6 ") as refused:
        nearest(bad, good)
    assert refused.value.slug == "degenerate-features"
    assert refused.value.extra["rows"] == [3, 6]
    assert refused.value.faults == ("image 3", "image 6")
    with pytest.raises(Invalid, match="reference features"):
        nearest(good, bad)


@pytest.mark.parametrize(
    ("generated", "reference", "slug"),
    [
        (np.ones((3, 4)), np.ones((3, 5)), "dimension-mismatch"),
        (np.ones(4), np.ones((3, 4)), "bad-features"),
        (np.ones((3, 4), int), np.ones((3, 4)), "bad-features"),
        (np.ones((0, 4)), np.ones((3, 4)), "too-few-images"),
        (np.ones((3, 4)), np.ones((0, 4)), "too-few-images"),
    ],
)
def test_invalid_features_are_refused(generated: NDArray[Any], reference: NDArray[Any], slug: str) -> None:
    with pytest.raises(Invalid) as refused:
        nearest(generated, reference)
    assert refused.value.slug == slug


@pytest.mark.parametrize("spread", [1.0, 1e-5])
def test_the_whole_matrix_is_never_in_memory(spread: float) -> None:
    """This holds for clear neighbours and for pairs that are all alike."""
    generated, reference = crowd(32, 6000, 4, spread), crowd(33, 12_000, 4, spread)
    tracemalloc.start()
    nearest(generated.astype(np.float32), reference.astype(np.float32))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 4 * 6000 * 12_000 / 2
