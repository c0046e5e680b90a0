"""FID-infinity compared with polynomial fits and a known distance."""

import numpy as np
import pytest
from numpy.typing import NDArray

from scorer.metrics.features import Estimate
from scorer.metrics.sample_quality.fid_infinity import fid_infinity, intercept_weights
from scorer.metrics.sample_quality.frechet import Statistics, frechet_distance, statistics_of
from scorer.metrics.sample_quality.frechet_standard_error import frechet_influences


def normal(seed: int, count: int, scale: float = 1.0) -> NDArray[np.float64]:
    return scale * np.random.default_rng(seed).standard_normal((count, 6))


def extrapolated(features: NDArray[np.float64], reference: Statistics, seed: int = 0) -> Estimate:
    result = fid_infinity(
        features,
        reference,
        influences=frechet_influences(features, reference),
        random=np.random.default_rng(seed),
        min_size=100,
    )
    assert result is not None
    return result


def test_the_weights_are_those_of_a_least_squares_line() -> None:
    counts = np.linspace(50, 400, 9).astype(np.int64)
    weights = intercept_weights(counts)
    assert weights @ (3.0 + 50.0 / counts) == pytest.approx(3.0)
    values = 2.0 + 30.0 / counts + 0.01 * np.random.default_rng(0).standard_normal(9)
    assert weights @ values == pytest.approx(np.polyfit(1.0 / counts, values, 1)[1])


def test_the_error_matches_a_delete_group_jackknife() -> None:
    """The jackknife removes each group of images from all parts and recomputes all distances."""
    features = normal(40, 600, 1.2)
    reference = statistics_of(normal(41, 20_000))
    counts = np.linspace(100, 600, 15).astype(np.int64)
    random = np.random.default_rng(7)
    parts = [np.sort(random.choice(600, count, replace=False)) for count in counts]
    group = np.random.default_rng(8).permutation(600) % 60
    intercepts = []
    for number in range(60):
        rest = [part[group[part] != number] for part in parts]
        distances = np.array([frechet_distance(statistics_of(features[rows]), reference) for rows in rest])
        intercepts.append(intercept_weights(np.array([len(rows) for rows in rest])) @ distances)
    exact = np.sqrt(59 / 60 * np.square(intercepts - np.mean(intercepts)).sum())
    assert extrapolated(features, reference, seed=7).standard_error == pytest.approx(exact, rel=0.25)


def test_the_error_matches_the_spread_over_independent_samples() -> None:
    reference = statistics_of(normal(42, 20_000))
    results = [extrapolated(normal(seed, 800, 1.2), reference, seed) for seed in range(100, 300)]
    spread = np.std([result.value for result in results], ddof=1)  # has an error of 5 %
    assert np.mean([result.standard_error or 0.0 for result in results]) == pytest.approx(spread, rel=0.15)


def test_without_influences_there_is_no_error() -> None:
    line = fid_infinity(
        normal(43, 200), statistics_of(normal(44, 99)), influences=None, random=np.random.default_rng(0), min_size=100
    )
    assert line is not None
    assert line.standard_error is None


def test_fid_infinity_is_nearer_to_the_true_distance_than_fid() -> None:
    """In six dimensions the distance between N(0, I) and N(0, 1.2^2 I) is 6 (1.2 - 1)^2 = 0.24."""
    reference = statistics_of(normal(1, 20_000))
    entries = [(seed, normal(seed, 800, 1.2)) for seed in range(2, 22)]
    limits = np.array([extrapolated(features, reference, seed).value for seed, features in entries])
    whole = np.array([frechet_distance(statistics_of(features), reference) for _, features in entries])
    assert abs(limits.mean() - 0.24) < 0.5 * abs(whole.mean() - 0.24)


def test_the_last_part_has_all_images() -> None:
    features = normal(30, 300, 1.1)
    reference = statistics_of(normal(31, 500))
    shares = list[float]()
    result = fid_infinity(
        features,
        reference,
        influences=None,
        random=np.random.default_rng(0),
        sizes=4,
        min_size=100,
        progress=shares.append,
    )
    assert result is not None
    drawn = np.random.default_rng(0)
    counts = np.array([100, 166, 233, 300])
    parts = [features[np.sort(drawn.choice(300, count, replace=False))] for count in counts]
    distances = [frechet_distance(statistics_of(part), reference) for part in parts]
    assert result.value == pytest.approx(np.polyfit(1.0 / counts, distances, 1)[1], rel=1e-9)
    assert shares == [0.25, 0.5, 0.75, 1.0]


def test_too_few_images_give_no_value() -> None:
    reference = statistics_of(normal(33, 99))
    assert fid_infinity(normal(32, 100), reference, influences=None, random=np.random.default_rng(0)) is None
