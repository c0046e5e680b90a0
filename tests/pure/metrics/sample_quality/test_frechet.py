"""The Fréchet distance compared with closed forms and independent computations, and its symmetries."""

import tracemalloc
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from scorer.errors import Invalid
from scorer.metrics.sample_quality.frechet import Statistics, factor_of, frechet_distance, statistics_of
from tests.examples import examples
from tests.pure.oracles import frechet_by_eigenvalues, frechet_from_rows, golden

Matrix = NDArray[np.float64]


def rows(seed: int, count: int, dimension: int, *, decay: float = 0.5) -> Matrix:
    """Correlated features with variances that decrease as a power of the axis number."""
    random = np.random.default_rng(seed)
    axes = np.linalg.qr(random.standard_normal((dimension, dimension)))[0]
    scale = np.arange(1, dimension + 1.0) ** -decay
    return np.asarray(random.standard_normal((count, dimension)) * scale @ axes + random.standard_normal(dimension))


def positive_definite(random: np.random.Generator, eigenvalues: Matrix) -> Matrix:
    axes = np.linalg.qr(random.standard_normal((len(eigenvalues), len(eigenvalues))))[0]
    matrix = (axes * eigenvalues) @ axes.T
    return np.asarray((matrix + matrix.T) / 2)


def close(actual: float, expected: float, *inputs: Statistics | Matrix) -> bool:
    """Whether both differ by at most the promised 1e-9 of tr S_g + tr S_r."""
    spread = sum(
        float(np.trace(part.covariance)) if isinstance(part, Statistics) else float(part.var(axis=0, ddof=1).sum())
        for part in inputs
    )
    return abs(actual - expected) <= 1e-9 * spread


def fid(generated: NDArray[Any], reference: NDArray[Any]) -> float:
    return frechet_distance(statistics_of(generated), statistics_of(reference))


# Closed forms


@pytest.mark.parametrize("decay", [0.0, 1.0, 2.0, 4.0])
@pytest.mark.parametrize("dimension", [24, 200])
def test_a_linear_map_has_a_closed_form(dimension: int, decay: float) -> None:
    """For X ~ (0, S) and Y = T X with T positive definite, FID = tr (I - T) S (I - T) with any spectrum."""
    random = np.random.default_rng(3)
    covariance = positive_definite(random, np.arange(1, dimension + 1.0) ** -decay)
    transform = positive_definite(random, random.uniform(0.5, 1.5, dimension))
    mapped = transform @ covariance @ transform
    zero = np.zeros(dimension)
    rest = np.eye(dimension) - transform
    a, b = Statistics(zero, (mapped + mapped.T) / 2, 1000), Statistics(zero, covariance, 1000)
    expected = float(np.trace(rest @ covariance @ rest))
    assert close(frechet_distance(a, b), expected, a, b)
    assert close(frechet_distance(b, replace(a, factor=factor_of(a))), expected, a, b)


def test_scaling_has_a_closed_form() -> None:
    features = rows(0, 300, 20)
    centred = features - features.mean(axis=0)
    expected = 0.25 * float(np.trace(statistics_of(centred).covariance))
    assert fid(1.5 * centred, centred) == pytest.approx(expected, rel=1e-12)


def test_a_shift_of_the_mean_counts_squared() -> None:
    """Equal covariances in 2048 dimensions with means that differ by one give exactly 2048."""
    identity = np.eye(2048)
    a = Statistics(np.ones(2048), identity, 10_000, identity)
    b = Statistics(np.zeros(2048), identity, 10_000, identity)
    assert frechet_distance(a, b) == 2048.0


def test_commuting_covariances_have_a_closed_form() -> None:
    random = np.random.default_rng(1)
    own, other = random.uniform(0.1, 3.0, 50), random.uniform(0.1, 3.0, 50)
    axes = np.linalg.qr(random.standard_normal((50, 50)))[0]
    a = Statistics(np.zeros(50), (axes * own) @ axes.T, 100)
    b = Statistics(np.zeros(50), (axes * other) @ axes.T, 100)
    assert close(frechet_distance(a, b), float(np.square(np.sqrt(own) - np.sqrt(other)).sum()), a, b)


def test_one_dimension() -> None:
    generated, reference = np.array([[0.0], [2.0], [4.0]]), np.array([[1.0], [2.0], [3.0]])
    assert fid(generated, reference) == pytest.approx((2.0 - 1.0) ** 2, rel=1e-14)


def test_the_golden_value() -> None:
    assert fid(golden().generated, golden().training) == pytest.approx(1.016547922333256, rel=1e-12)


# Statistics


def test_the_statistics_match_numpy() -> None:
    features = rows(1, 500, 12)
    statistics = statistics_of(features)
    np.testing.assert_allclose(statistics.mean, features.mean(axis=0), rtol=1e-13)
    np.testing.assert_allclose(statistics.covariance, np.cov(features, rowvar=False), rtol=1e-12)
    assert statistics.count == 500


def test_float32_features_get_float64_statistics() -> None:
    features = (rows(2, 4000, 8) + 1000.0).astype(np.float32)
    statistics = statistics_of(features)
    exact = statistics_of(features.astype(np.float64))
    assert statistics.mean.dtype == statistics.covariance.dtype == np.dtype(np.float64)
    np.testing.assert_array_equal(statistics.mean, exact.mean)
    np.testing.assert_array_equal(statistics.covariance, exact.covariance)


def test_statistics_do_not_change_the_features() -> None:
    features = rows(3, 50, 8)
    original = features.copy()
    statistics_of(features)
    np.testing.assert_array_equal(features, original)


@pytest.mark.parametrize("count", [2, 30, 31, 500])
@pytest.mark.parametrize("kind", ["plain", "equal rows", "constant feature"])
def test_the_factor_reproduces_the_covariance(count: int, kind: str) -> None:
    features = rows(4, count, 30)
    if kind == "equal rows":
        features[: count // 2] = features[0]
    if kind == "constant feature":
        features[:, 7] = 3.0
    statistics = statistics_of(features)
    assert statistics.factor is not None
    scale = np.abs(statistics.covariance).max()
    np.testing.assert_allclose(statistics.factor @ statistics.factor.T, statistics.covariance, atol=1e-14 * scale)


@pytest.mark.parametrize("rank", [0, 1, 10, 30])
def test_covariances_of_any_rank_have_a_factor(rank: int) -> None:
    random = np.random.default_rng(5)
    covariance = positive_definite(random, np.where(np.arange(30) < rank, 1.0, 0.0))
    factor = factor_of(Statistics(np.zeros(30), covariance, 100))
    assert factor.shape == (30, rank)
    np.testing.assert_allclose(factor @ factor.T, covariance, atol=1e-13)


# Rank-deficient sets


@pytest.mark.parametrize(("own", "other"), [(20, 300), (300, 20), (20, 30), (2, 2), (60, 61), (61, 300), (64, 60)])
def test_few_images(own: int, other: int) -> None:
    generated, reference = rows(6, own, 60), rows(7, other, 60)
    expected = frechet_from_rows(generated, reference)
    assert close(fid(generated, reference), expected, generated, reference)
    assert close(fid(reference, generated), expected, generated, reference)


@pytest.mark.parametrize("which", ["generated", "reference", "both"])
@pytest.mark.parametrize("noise", [0.0, 1e-13, 1e-10, 1e-7, 1e-4])
def test_many_nearly_equal_rows(which: str, noise: float) -> None:
    """With many copies of ten images, the rows still contain the small variances, but the covariance does not."""
    random = np.random.default_rng(8)

    def collapsed(features: Matrix) -> Matrix:
        return features[np.arange(len(features)) % 10] + noise * random.standard_normal(features.shape)

    generated, reference = rows(9, 400, 50), rows(10, 500, 50)
    if which != "reference":
        generated = collapsed(generated)
    if which != "generated":
        reference = collapsed(reference)
    expected = frechet_from_rows(generated, reference)
    assert close(fid(generated, reference), expected, generated, reference)


def test_many_copies_of_one_image() -> None:
    reference = rows(11, 300, 20)
    generated = np.repeat(reference[:1], 200, axis=0)
    shift = reference[0] - reference.mean(axis=0)
    expected = float(shift @ shift) + float(np.trace(statistics_of(reference).covariance))
    assert close(fid(generated, reference), expected, generated, reference)
    assert fid(generated, generated) == pytest.approx(0.0, abs=1e-12)


def test_features_that_are_always_zero() -> None:
    generated, reference = rows(12, 300, 40), rows(13, 300, 40)
    generated[:, :5] = 0.0
    reference[:, 3:9] = 0.0
    expected = frechet_from_rows(generated, reference)
    assert close(fid(generated, reference), expected, generated, reference)


def test_any_factor_is_accepted() -> None:
    """A square factor that is not triangular hides that the covariance is singular."""
    random = np.random.default_rng(23)
    thin = random.standard_normal((100, 5))
    padded = np.concatenate([thin, np.zeros((100, 95))], axis=1)
    square = padded @ np.linalg.qr(random.standard_normal((100, 100)))[0]
    a = Statistics(np.zeros(100), square @ square.T, 600, square)
    b = Statistics(np.zeros(100), statistics_of(random.standard_normal((500, 100))).covariance, 500)
    nuclear = float(np.linalg.svd(thin.T @ np.linalg.cholesky(b.covariance), compute_uv=False).sum())
    expected = float((thin**2).sum() + np.trace(b.covariance)) - 2 * nuclear
    assert close(frechet_distance(a, b), expected, a, b)
    assert close(frechet_distance(b, a), expected, a, b)


@pytest.mark.parametrize("rank", [1, 5, 39])
def test_singular_covariances_without_their_features(rank: int) -> None:
    random = np.random.default_rng(14)
    factor, other = random.standard_normal((40, rank)), random.standard_normal((40, 40))
    a = Statistics(np.zeros(40), factor @ factor.T, 100)
    b = Statistics(np.zeros(40), other @ other.T, 100)
    nuclear = float(np.linalg.svd(factor.T @ other, compute_uv=False).sum())
    expected = float((factor**2).sum() + (other**2).sum()) - 2 * nuclear
    assert close(frechet_distance(a, b), expected, a, b)
    assert close(frechet_distance(b, a), expected, a, b)


# Symmetries and other computations


@given(seed=st.integers(0, 2**32 - 1), own=st.integers(2, 60), other=st.integers(2, 60), d=st.integers(1, 25))
@settings(max_examples=examples(60), deadline=None)
def test_the_distance_matches_that_of_the_rows_and_is_symmetric(seed: int, own: int, other: int, d: int) -> None:
    generated, reference = rows(seed, own, d), rows(seed + 1, other, d)
    distance = fid(generated, reference)
    assert distance >= 0.0
    assert close(distance, frechet_from_rows(generated, reference), generated, reference)
    assert close(distance, fid(reference, generated), generated, reference)


def test_the_distance_matches_the_eigenvalues_of_the_plain_product() -> None:
    a, b = statistics_of(rows(15, 900, 80)), statistics_of(rows(16, 700, 80))
    expected = frechet_by_eigenvalues(a.mean, a.covariance, b.mean, b.covariance)
    assert frechet_distance(a, b) == pytest.approx(expected, rel=1e-10)


@given(seed=st.integers(0, 2**32 - 1), own=st.sampled_from([5, 17, 80]))
@settings(max_examples=examples(30), deadline=None)
def test_order_rotation_and_common_shift_do_not_matter(seed: int, own: int) -> None:
    random = np.random.default_rng(seed)
    generated, reference = rows(seed, own, 16), rows(seed + 1, 60, 16)
    distance = fid(generated, reference)
    rotation = np.linalg.qr(random.standard_normal((16, 16)))[0]
    shift = random.standard_normal(16) * 10
    assert fid(random.permutation(generated), random.permutation(reference)) == pytest.approx(distance, rel=1e-9)
    assert fid(generated @ rotation, reference @ rotation) == pytest.approx(distance, rel=1e-9)
    assert fid(generated + shift, reference + shift) == pytest.approx(distance, rel=1e-9)
    assert fid(3.0 * generated, 3.0 * reference) == pytest.approx(9.0 * distance, rel=1e-9)


def test_shifting_one_set_changes_only_the_first_term() -> None:
    generated, reference = rows(17, 200, 10), rows(18, 200, 10)
    apart = generated.mean(axis=0) - reference.mean(axis=0)
    shift = np.linspace(-1, 1, 10)
    expected = fid(generated, reference) + float((2 * apart + shift) @ shift)
    assert fid(generated + shift, reference) == pytest.approx(expected, rel=1e-10)


def test_doubling_every_image_only_changes_the_divisor() -> None:
    """The mean stays the same, and the covariance is multiplied by (2n - 2) / (2n - 1)."""
    generated = rows(19, 100, 10)
    reference = statistics_of(rows(20, 150, 10))
    single = statistics_of(generated)
    expected = Statistics(single.mean, single.covariance * (198 / 199), 200)
    doubled = statistics_of(np.concatenate([generated, generated]))
    assert frechet_distance(doubled, reference) == pytest.approx(frechet_distance(expected, reference), rel=1e-11)


@pytest.mark.parametrize("count", [20, 500])
def test_a_set_has_distance_zero_from_itself(count: int) -> None:
    statistics = statistics_of(rows(21, count, 100))
    assert 0.0 <= frechet_distance(statistics, statistics) <= 1e-9 * float(np.trace(statistics.covariance))


# Refusals


@pytest.mark.parametrize(
    ("features", "slug"),
    [
        (np.zeros(5), "bad-features"),
        (np.zeros((2, 3, 4)), "bad-features"),
        (np.zeros((5, 0)), "bad-features"),
        (np.zeros((5, 3), np.uint8), "bad-features"),
        (np.zeros((1, 3)), "too-few-images"),
        (np.zeros((0, 3)), "too-few-images"),
    ],
)
def test_an_invalid_feature_matrix_is_refused(features: NDArray[Any], slug: str) -> None:
    with pytest.raises(Invalid) as refused:
        statistics_of(features)
    assert refused.value.slug == slug


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_images_with_features_that_are_not_finite_are_named(wrong: float) -> None:
    features = np.ones((6, 3), np.float32)
    features[[2, 4], 1] = wrong
    with pytest.raises(Invalid, match="image 2, 4 ") as refused:
        statistics_of(features)
    assert refused.value.slug == "degenerate-features"
    assert refused.value.extra["rows"] == [2, 4]


def test_features_of_different_dimensions_are_refused() -> None:
    with pytest.raises(Invalid, match="8 dimensions and the reference has 9") as refused:
        fid(rows(0, 20, 8), rows(0, 20, 9))
    assert refused.value.slug == "dimension-mismatch"


def test_inconsistent_statistics_are_refused() -> None:
    for parts in (
        (np.zeros(3), np.eye(4)),
        (np.zeros((3, 1)), np.eye(3)),
        (np.zeros(3), np.eye(3), 5, np.eye(4)),
    ):
        with pytest.raises(Invalid) as refused:
            Statistics(parts[0], parts[1], 5, *parts[3:])
        assert refused.value.slug == "bad-statistics"
    bad = np.eye(3)
    bad[0, 1] = np.nan
    with pytest.raises(Invalid) as refused:
        frechet_distance(Statistics(np.zeros(3), bad, 5), Statistics(np.zeros(3), np.eye(3), 5))
    assert refused.value.slug == "bad-statistics"


@pytest.mark.parametrize(
    "negative", [[[-1.0, 1.0], [1.0, 1.0]], [[-1.0, 0.0], [0.0, -2.0]], [[1.0, 0.0], [0.0, -1e-6]]]
)
def test_a_covariance_with_a_negative_eigenvalue_is_refused(negative: list[list[float]]) -> None:
    """A square root of only the positive part would give a plausible but wrong distance."""
    impossible, possible = Statistics(np.zeros(2), np.array(negative), 9), Statistics(np.zeros(2), np.eye(2), 9)
    for a, b in ((impossible, possible), (possible, impossible)):
        with pytest.raises(Invalid, match="negative eigenvalue") as refused:
            frechet_distance(a, b)
        assert refused.value.slug == "bad-statistics"


def test_memory_stays_within_a_few_covariances_and_one_wide_copy() -> None:
    """This is scaled down from 10,000 x 4032, where the bound is below 2 GB."""
    features = rows(22, 1500, 600).astype(np.float32)
    reference = statistics_of(features)
    tracemalloc.start()
    frechet_distance(statistics_of(features), reference)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak <= 8 * (1500 * 600 + 6 * 600 * 600)
