"""FID-infinity against polynomial fits and a known distance."""

import numpy as np
import pytest
from numpy.typing import NDArray

from scorer.errors import Invalid
from scorer.metrics.sample_quality.fid_infinity import fid_infinity, line_through
from scorer.metrics.sample_quality.frechet import frechet_distance, statistics_of


def normal(seed: int, count: int, scale: float = 1.0) -> NDArray[np.float64]:
    return scale * np.random.default_rng(seed).standard_normal((count, 6))


def test_a_line_is_a_line() -> None:
    counts = np.array([10, 20, 40, 80])
    line = line_through(counts, 3.0 + 50.0 / counts)
    assert line.value == pytest.approx(3.0)
    assert line.slope == pytest.approx(50.0)
    assert line.standard_error == pytest.approx(0.0, abs=1e-12)


def test_the_error_is_that_of_least_squares() -> None:
    counts = np.linspace(50, 400, 9).astype(np.int64)
    values = 2.0 + 30.0 / counts + 0.01 * np.random.default_rng(0).standard_normal(9)
    (slope, value), covariance = np.polyfit(1.0 / counts, values, 1, cov=True)
    line = line_through(counts, values)
    assert line.value == pytest.approx(value)
    assert line.slope == pytest.approx(slope)
    assert line.standard_error == pytest.approx(np.sqrt(covariance[1, 1]))


def test_it_is_nearer_to_the_truth_than_the_distance() -> None:
    """Between N(0, I) and N(0, 1.2^2 I) in six dimensions the distance is 6 (1.2 - 1)^2 = 0.24."""
    reference = statistics_of(normal(1, 20_000))
    results = [
        fid_infinity(normal(seed, 800, 1.2), reference, random=np.random.default_rng(seed), min_size=100)
        for seed in range(2, 22)
    ]
    limits = np.array([each.value for each in results if each is not None])
    whole = np.array([each.distances[-1] for each in results if each is not None])
    assert len(limits) == 20
    assert abs(limits.mean() - 0.24) < 0.5 * abs(whole.mean() - 0.24)


def test_the_last_part_is_everything() -> None:
    features = normal(30, 300, 1.1)
    reference = statistics_of(normal(31, 500))
    shares = list[float]()
    result = fid_infinity(
        features, reference, random=np.random.default_rng(0), sizes=4, min_size=100, progress=shares.append
    )
    assert result is not None
    assert result.sizes == (100, 166, 233, 300)
    assert result.distances[-1] == pytest.approx(frechet_distance(statistics_of(features), reference), rel=1e-12)
    assert shares == [0.25, 0.5, 0.75, 1.0]


def test_too_few_images_have_none() -> None:
    assert fid_infinity(normal(32, 100), statistics_of(normal(33, 99)), random=np.random.default_rng(0)) is None


def test_what_is_refused() -> None:
    with pytest.raises(Invalid) as refused:
        fid_infinity(normal(34, 9), statistics_of(normal(35, 9)), random=np.random.default_rng(0), sizes=2)
    assert refused.value.slug == "bad-count"
