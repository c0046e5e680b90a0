"""The standard error of the Fréchet distance compared with a closed form, finite differences and the spread over
independent samples."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from scorer.errors import Invalid
from scorer.metrics.sample_quality.frechet import Statistics, frechet_distance, statistics_of
from scorer.metrics.sample_quality.frechet_standard_error import frechet_standard_error

Matrix = NDArray[np.float64]


def rows(seed: int, count: int, dimension: int, scale: float = 1.0, shift: float = 0.0) -> Matrix:
    """Correlated and skewed features, because the error must not depend on normality."""
    mixing = np.eye(dimension) + 0.5 * np.tri(dimension, k=-1) / np.sqrt(dimension)
    random = np.random.default_rng(seed)
    return np.asarray(scale * (random.exponential(1.0, (count, dimension)) - 1.0) @ mixing + shift)


def compute_error(features: NDArray[Any], reference: NDArray[Any]) -> float:
    error = frechet_standard_error(features, statistics_of(reference))
    assert error is not None
    return error


def by_differences(features: Matrix, reference: Statistics) -> float:
    """The standard error from finite differences of the distance when each image gets more or less weight.

    The difference between the unbiased covariance and the plain mean of squares stays constant.
    """
    count = len(features)
    step = 1e-6
    rest = np.asarray(statistics_of(features).factor) / np.sqrt(count)

    def frechet_with_weight(row: int, more: float) -> float:
        weights = np.full(count, (1.0 - more) / count)
        weights[row] += more
        mean = weights @ features
        centred = (features - mean) * np.sqrt(weights)[:, None]
        factor = np.hstack([centred.T, rest])
        return frechet_distance(Statistics(mean, factor @ factor.T, count, factor), reference)

    influence = [
        (frechet_with_weight(row, step) - frechet_with_weight(row, -step)) / (2.0 * step) for row in range(count)
    ]
    return float(np.std(influence, ddof=1) / np.sqrt(count))


def test_one_dimension_has_a_closed_form() -> None:
    """FID is (mu - mu_r)^2 + (sd - sd_r)^2, so an image at c from the mean has the influence 2 (mu - mu_r) c +
    (1 - sd_r / sd) c^2."""
    features = rows(0, 50, 1, 2.0)
    reference = rows(1, 80, 1, 1.0, 0.5)
    centred = (features - features.mean())[:, 0]
    ratio = reference.std(ddof=1) / features.std(ddof=1)
    influence = 2.0 * (features.mean() - reference.mean()) * centred + (1.0 - ratio) * centred**2
    assert compute_error(features, reference) == pytest.approx(influence.std(ddof=1) / np.sqrt(50), rel=1e-12)


@pytest.mark.parametrize(("scale", "shift"), [(1.3, 0.0), (1.0, 0.5), (0.8, 0.2)])
@pytest.mark.parametrize("dimension", [2, 8])
def test_the_error_matches_finite_differences_of_the_weights(dimension: int, scale: float, shift: float) -> None:
    features = rows(2, 300, dimension, scale, shift)
    reference = statistics_of(rows(3, 500, dimension))
    error = frechet_standard_error(features, reference)
    assert error == pytest.approx(by_differences(features, reference), rel=1e-6)


@pytest.mark.parametrize(("scale", "shift"), [(1.3, 0.0), (1.1, 0.5), (0.7, 0.2)])
def test_the_error_matches_the_spread_over_independent_samples(scale: float, shift: float) -> None:
    reference = statistics_of(rows(4, 5000, 4))
    samples = [rows(seed, 1000, 4, scale, shift) for seed in range(100, 500)]
    spread = np.std([frechet_distance(statistics_of(sample), reference) for sample in samples], ddof=1)
    errors = [frechet_standard_error(sample, reference) or 0.0 for sample in samples[:40]]
    assert np.mean(errors) == pytest.approx(spread, rel=0.12)  # the spread of 400 samples has an error of about 4 %


def test_repeating_every_image_four_times_halves_the_error() -> None:
    features = rows(5, 200, 5, 1.2)
    reference = rows(6, 300, 5)
    single = compute_error(features, reference)
    assert compute_error(np.tile(features, (4, 1)), reference) == pytest.approx(single / 2.0, rel=0.01)


def test_order_rotation_and_shift_do_not_matter_and_scale_is_squared() -> None:
    random = np.random.default_rng(7)
    features = rows(8, 150, 6, 1.2, 0.1)
    reference = rows(9, 200, 6)
    error = compute_error(features, reference)
    rotation = np.linalg.qr(random.standard_normal((6, 6)))[0]
    assert compute_error(random.permutation(features), reference) == pytest.approx(error, rel=1e-10)
    assert compute_error(features @ rotation, reference @ rotation) == pytest.approx(error, rel=1e-10)
    assert compute_error(features + 7.0, reference + 7.0) == pytest.approx(error, rel=1e-10)
    assert compute_error(3.0 * features, 3.0 * reference) == pytest.approx(9.0 * error, rel=1e-10)


@pytest.mark.parametrize("silent_in", ["generated", "reference", "both"])
def test_features_that_are_always_zero(silent_in: str) -> None:
    """If they are zero in both sets, they change nothing. In one set, the error follows the distance."""
    features = rows(10, 300, 5, 1.2, 0.3)
    reference = rows(11, 300, 5)
    silent = np.zeros((300, 2))
    noisy = 0.3 * rows(12, 300, 2)
    wide = np.hstack([features, noisy if silent_in == "reference" else silent])
    other = np.hstack([reference, noisy if silent_in == "generated" else silent])
    error = compute_error(wide, other)
    if silent_in == "both":
        assert error == pytest.approx(compute_error(features, reference), rel=1e-10)
    assert error == pytest.approx(by_differences(wide, statistics_of(other)), rel=1e-6)


def test_a_reference_with_fewer_images_than_features() -> None:
    features = rows(13, 300, 8, 1.3)
    reference = rows(14, 6, 8)
    expected = by_differences(features, statistics_of(reference))
    assert compute_error(features, reference) == pytest.approx(expected, rel=1e-6)


def test_float32_features_are_computed_in_float64() -> None:
    features = rows(15, 100, 6).astype(np.float32)
    reference = rows(16, 100, 6)
    assert compute_error(features, reference) == compute_error(features.astype(np.float64), reference)


@pytest.mark.parametrize(("count", "known"), [(2, False), (8, False), (9, True)])
def test_too_few_images_give_no_error(count: int, known: bool) -> None:
    shares: list[float] = []
    error = frechet_standard_error(rows(17, count, 8), statistics_of(rows(18, 100, 8)), progress=shares.append)
    assert (error is not None) is known
    assert shares[-1] == 1.0


def test_progress_rises_to_one() -> None:
    shares: list[float] = []
    frechet_standard_error(rows(19, 3000, 4), statistics_of(rows(20, 100, 4)), progress=shares.append)
    assert shares == sorted(shares)
    assert 0.0 < shares[0] < shares[-1] == 1.0
    assert len(shares) == 5


def test_features_of_different_dimensions_are_refused() -> None:
    with pytest.raises(Invalid) as refused:
        frechet_standard_error(rows(21, 20, 3), statistics_of(rows(22, 20, 4)))
    assert refused.value.slug == "dimension-mismatch"
