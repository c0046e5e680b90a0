"""The metrics compared with those of other libraries on the same features.

torch-fidelity, torchmetrics and prdc are independent implementations of the same papers. If one of them is known to be
wrong, a test shows how: then a difference is not an error in Kennel.

Tolerances are as narrow as the other library's arithmetic allows.
"""

from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from prdc import compute_prdc
from torch import Tensor, nn
from torch_fidelity.metric_fid import fid_features_to_statistics, fid_statistics_to_metric
from torch_fidelity.metric_kid import kid_features_to_metric
from torch_fidelity.metric_prc import prc_features_to_metric
from torchmetrics.image.fid import FrechetInceptionDistance
from torchmetrics.image.kid import KernelInceptionDistance
from torchmetrics.image.mifid import MemorizationInformedFrechetInceptionDistance, _mifid_compute

from scorer.metrics.memorization import memorization_distance
from scorer.metrics.mifid import mifid
from scorer.metrics.sample_quality.frechet import frechet_distance, statistics_of
from scorer.metrics.sample_quality.kid import squared_mmd
from scorer.metrics.sample_quality.prdc import prdc_with_error
from tests.pure.oracles import golden

Features = NDArray[np.floating[Any]]
# seed, generated, reference, dimension
SHAPES = [(0, 200, 300, 32), (1, 500, 400, 64), (2, 1000, 1500, 128), (3, 300, 250, 7)]
PRECISIONS = [np.float32, np.float64]

each_shape = pytest.mark.parametrize(("seed", "own", "other", "dimension"), SHAPES)
each_precision = pytest.mark.parametrize("precision", PRECISIONS)


def features(seed: int, count: int, dimension: int, precision: type[np.floating[Any]], scale: float = 1.0) -> Features:
    """Non-negative, correlated features with the magnitude of pooled activations."""
    mixing = np.random.default_rng(dimension).standard_normal((dimension, dimension)) / np.sqrt(dimension)
    random = np.random.default_rng(seed)
    active = np.maximum(random.standard_normal((count, dimension)) @ mixing + 0.2, 0.0)
    return np.asarray(scale * active + 0.01 * random.random((count, dimension))).astype(precision)


def both(seed: int, own: int, other: int, dimension: int, precision: Any = np.float64) -> tuple[Features, Features]:
    """(generated, reference)."""
    return features(seed, own, dimension, precision, 1.05), features(seed + 100, other, dimension, precision)


def fid_and_spread(generated: Features, reference: Features) -> tuple[float, float]:
    """Kennel's FID, and tr S_g + tr S_r. FID is a difference of terms of that size, so errors are relative to it."""
    a, b = statistics_of(generated), statistics_of(reference)
    return frechet_distance(a, b), float(np.trace(a.covariance) + np.trace(b.covariance))


class PassThrough(nn.Module):
    """An extractor that takes features as images."""

    def __init__(self, num_features: int) -> None:
        super().__init__()
        self.num_features = num_features

    def forward(self, images: Tensor) -> Tensor:
        return images


def fed(metric: Any, generated: Features, reference: Features) -> Any:
    """Compute a torchmetrics metric in batches."""
    for part, real in ((generated, False), (reference, True)):
        for start in range(0, len(part), 128):
            metric.update(torch.from_numpy(part[start : start + 128]), real=real)
    return metric.compute()


# Fréchet distance


@each_shape
@each_precision
def test_fid_of_torch_fidelity(
    seed: int, own: int, other: int, dimension: int, precision: type[np.floating[Any]]
) -> None:
    """The library takes the mean in the features' precision. The rest is float64, and these covariances are regular.

    In float32 the mean has a relative error of about 2^-24, which changes |shift|^2 by 2 |shift| |error|.
    """
    generated, reference = both(seed, own, other, dimension, precision)
    parts = [fid_features_to_statistics(torch.from_numpy(part)) for part in (generated, reference)]
    expected = fid_statistics_to_metric(*parts, verbose=False)["frechet_inception_distance"]
    actual, spread = fid_and_spread(generated, reference)
    shift = np.linalg.norm(generated.mean(axis=0, dtype=np.float64) - reference.mean(axis=0, dtype=np.float64))
    lengths = np.linalg.norm(generated.mean(axis=0)) + np.linalg.norm(reference.mean(axis=0))
    rounding = 2.0 * 2.0**-24 * float(2.0 * shift * lengths) if precision is np.float32 else 0.0
    assert abs(actual - expected) <= rounding + 1e-13 * spread


@each_shape
@each_precision
def test_fid_of_torchmetrics(
    seed: int, own: int, other: int, dimension: int, precision: type[np.floating[Any]]
) -> None:
    """The library sums in float64 and returns the result in the features' precision."""
    generated, reference = both(seed, own, other, dimension, precision)
    metric = FrechetInceptionDistance(feature=PassThrough(dimension))
    expected = float(fed(metric, generated, reference))
    actual, spread = fid_and_spread(generated, reference)
    # Half a unit in the last place of the result. Sums around 0 instead of the mean add no larger error here.
    assert abs(actual - expected) <= 0.5 * float(np.finfo(precision).eps) * actual + 1e-13 * spread


@pytest.mark.parametrize("count", [20, 40])
def test_fid_of_fewer_images_than_features(count: int) -> None:
    """The library's error is the root of rounding noise, about sqrt(2^-52) times the spread. Kennel's is smaller."""
    generated, reference = both(4, count, 300, 64)
    parts = [fid_features_to_statistics(torch.from_numpy(part)) for part in (generated, reference)]
    expected = fid_statistics_to_metric(*parts, verbose=False)["frechet_inception_distance"]
    actual, spread = fid_and_spread(generated, reference)
    assert abs(actual - expected) <= 4.0 * 2.0**-26 * spread


@pytest.mark.parametrize("dimension", [2**exponent for exponent in range(1, 9)])
def test_fid_on_the_grid_of_torch_fidelitys_own_test(dimension: int) -> None:
    """Normal samples of 2 to 2^15 rows, to the five places that the library's test requires of a matrix square root.

    With fewer rows than features, the library's error is the root of rounding noise. There the trace of the root is the
    nuclear norm of the product of both sets' centred rows, and the test compares with that.
    """
    for count in (2**exponent for exponent in range(1, 16)):
        random = np.random.RandomState(2023)  # as in the library's test
        generated, reference = random.randn(count, dimension), random.randn(count, dimension)
        actual, spread = fid_and_spread(generated, reference)
        if count < dimension:
            assert actual == pytest.approx(_fid_by_nuclear_norm(generated, reference), abs=1e-13 * spread), count
            continue
        parts = [fid_features_to_statistics(torch.from_numpy(part)) for part in (generated, reference)]
        expected = fid_statistics_to_metric(*parts, verbose=False)["frechet_inception_distance"]
        assert actual == pytest.approx(expected, abs=1.5e-5), count


def _fid_by_nuclear_norm(generated: Features, reference: Features) -> float:
    """FID of two sets of n rows, from tr sqrt(A B) = ||X Y^T||_* for covariances A = X^T X and B = Y^T Y."""
    means = [part.mean(axis=0) for part in (generated, reference)]
    x, y = ((part - part.mean(axis=0)) / np.sqrt(len(part) - 1) for part in (generated, reference))
    root = np.linalg.norm(x @ y.T, "nuc")
    return float(np.square(means[0] - means[1]).sum() + np.square(x).sum() + np.square(y).sum() - 2.0 * root)


# Kernel distance


@each_shape
@each_precision
def test_kid_of_torch_fidelity(
    seed: int, own: int, other: int, dimension: int, precision: type[np.floating[Any]]
) -> None:
    """Sets of equal size, with subsets that contain everything."""
    size = min(own, other)
    generated, reference = both(seed, size, size, dimension, precision)
    expected = kid_features_to_metric(
        torch.from_numpy(generated),
        torch.from_numpy(reference),
        kid_subsets=2,
        kid_subset_size=size,
        rng_seed=2020,
        verbose=False,
    )
    actual = squared_mmd(generated, reference).value
    # The library keeps the features' precision: the mean of kernel values has a smaller error than the rounding of one.
    largest = (max(np.square(part.astype(np.float64)).sum(axis=1).max() for part in (generated, reference))) / dimension
    rounding = float(np.finfo(precision).eps) * (largest + 1.0) ** 3
    assert actual == pytest.approx(expected["kernel_inception_distance_mean"], abs=rounding)


@pytest.mark.filterwarnings("ignore:Metric `Kernel Inception Distance` will save all:UserWarning")
def test_kid_of_torchmetrics_on_whole_sets_of_equal_size() -> None:
    """Its random subsets can't be repeated, but a subset of full size is the whole set. Everything is float64."""
    generated, reference = both(5, 200, 200, 32)
    metric = KernelInceptionDistance(feature=PassThrough(32), subsets=2, subset_size=200)
    expected = [float(part) for part in fed(metric.set_dtype(torch.float64), generated, reference)]
    assert squared_mmd(generated, reference).value == pytest.approx(expected[0], rel=1e-10)


# Memorization-informed Fréchet distance


def score(generated: Features, reference: Features, tau: float) -> float:
    """Kennel's MiFID with torchmetrics's epsilon."""
    fid = frechet_distance(statistics_of(generated), statistics_of(reference))
    return float(mifid(fid, memorization_distance(generated, reference), tau, epsilon=1e-14))


def torchmetrics_mifid(first: Features, second: Features, tau: float) -> float:
    """The library's function, which averages over the rows of ``first`` the smallest distance to rows of ``second``."""
    own, other = (torch.from_numpy(part).double() for part in (first, second))
    own_statistics, other_statistics = ((rows.mean(dim=0), torch.cov(rows.T)) for rows in (own, other))
    return float(_mifid_compute(*own_statistics, own, *other_statistics, other, tau))


@each_shape
@each_precision
@pytest.mark.parametrize("tau", [0.01, 1.0])
def test_mifid_of_torchmetrics_in_the_right_order(
    seed: int, own: int, other: int, dimension: int, precision: type[np.floating[Any]], tau: float
) -> None:
    """Everything after the features is float64. With tau = 1 every entry is penalised."""
    generated, reference = both(seed, own, other, dimension, precision)
    fid, _ = fid_and_spread(generated, reference)
    actual = score(generated, reference, tau)
    assert (actual > 1.001 * fid) is (tau == 1.0)
    assert actual == pytest.approx(torchmetrics_mifid(generated, reference, tau), rel=1e-12)


def test_mifid_of_torchmetrics_is_shipped_in_reversed_order() -> None:
    generated, training = golden().generated, golden().training
    metric = MemorizationInformedFrechetInceptionDistance(feature=PassThrough(32), cosine_distance_eps=1.0)
    shipped = float(fed(metric, generated, training))
    assert shipped == pytest.approx(5.865333078620119, rel=1e-12)
    assert shipped == pytest.approx(torchmetrics_mifid(training, generated, 1.0), rel=1e-12)
    assert score(generated, training, 1.0) == pytest.approx(6.063657994583631, rel=1e-12)
    # As shipped, it equals Kennel's score with the memorization distance from the reference to the generated images.
    backwards = mifid(
        frechet_distance(statistics_of(generated), statistics_of(training)),
        memorization_distance(training, generated),
        1.0,
        epsilon=1e-14,
    )
    assert shipped == pytest.approx(backwards, rel=1e-12)


def test_the_reversed_order_does_not_penalise_a_copier() -> None:
    """The entry repeats half of the training set twice. Every image is a copy, but torchmetrics penalises none."""
    training = features(6, 600, 32, np.float32)
    generated = np.concatenate([training[:300], training[:300]])
    tau = 0.5 * memorization_distance(training, generated)
    assert memorization_distance(generated, training) == 0.0
    assert np.isnan(score(generated, training, tau))  # a copy has no score
    metric = MemorizationInformedFrechetInceptionDistance(feature=PassThrough(32), cosine_distance_eps=tau)
    fid, _ = fid_and_spread(generated, training)
    assert float(fed(metric, generated, training)) == pytest.approx(fid, rel=2.0**-22)  # returned in float32
    assert torchmetrics_mifid(generated, training, tau) > 1e6 * fid


def test_torchmetrics_gives_a_perfect_copy_the_best_score() -> None:
    """Its guard against small distances returns 0, lower than any honest entry's score. Kennel returns no score."""
    training = features(7, 300, 16, np.float64)
    metric = MemorizationInformedFrechetInceptionDistance(feature=PassThrough(16))
    assert float(fed(metric, training, training)) == 0.0
    assert np.isnan(score(training, training, 0.1))


# Precision, recall, density, coverage


@each_shape
@each_precision
@pytest.mark.parametrize("k", [3, 5])
def test_prdc(seed: int, own: int, other: int, dimension: int, precision: type[np.floating[Any]], k: int) -> None:
    """The values are counts, so they are equal or differ by whole images. prdc uses < for all four, which matters only
    for ties."""
    generated, reference = both(seed, own, other, dimension, precision)
    expected = compute_prdc(real_features=reference, fake_features=generated, nearest_k=k)
    actual, _ = prdc_with_error(generated, reference, k=k, density_k=k)
    assert vars(actual) == pytest.approx(expected, rel=1e-12)


def test_prdc_differs_on_ties() -> None:
    """2 is inside the ball of 3 and on the border of the ball of 1. 5 is on the border of the ball of 3. 9 is in no
    ball."""
    real, generated = np.array([[0.0], [1.0], [3.0]]), np.array([[2.0], [5.0], [9.0]])
    expected = compute_prdc(real_features=real, fake_features=generated, nearest_k=1)
    actual, _ = prdc_with_error(generated, real, k=1, density_k=1)
    assert (expected["precision"], actual.precision) == (1 / 3, 2 / 3)
    assert (actual.density, actual.coverage) == (expected["density"], expected["coverage"]) == (1 / 3, 1 / 3)


@each_shape
@each_precision
def test_precision_and_recall_of_torch_fidelity(
    seed: int, own: int, other: int, dimension: int, precision: type[np.floating[Any]]
) -> None:
    """The values are counts with <=, as in Kennel, and k = 3 by default. The library returns them as float32."""
    generated, reference = both(seed, own, other, dimension, precision)
    expected = prc_features_to_metric(torch.from_numpy(generated), torch.from_numpy(reference), verbose=False)
    actual, _ = prdc_with_error(generated, reference)
    assert actual.precision == pytest.approx(expected["precision"], rel=2.0**-23)
    assert actual.recall == pytest.approx(expected["recall"], rel=2.0**-23)
