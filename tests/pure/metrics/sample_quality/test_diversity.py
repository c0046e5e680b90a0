"""The Vendi score and RKE compared with their definitions and closed forms."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.linalg import eigvalsh
from sklearn.preprocessing import normalize

from scorer.errors import Invalid
from scorer.metrics.features import Estimate
from scorer.metrics.sample_quality.diversity import rke, vendi_score
from scorer.metrics.sample_quality.kernel_sums import median_width

Matrix = NDArray[np.float64]


def rows(seed: int, count: int, dimension: int) -> Matrix:
    return np.random.default_rng(seed).standard_normal((count, dimension)) + 0.5


def vendi_by_definition(features: Matrix) -> float:
    """The score from the spectrum of the n x n matrix of cosines, as in layer6ai-labs/dgm-eval."""
    unit = normalize(features)
    spectrum = eigvalsh(unit @ unit.T / len(unit))
    positive = spectrum[spectrum > 1e-12]
    return float(np.exp(-(positive * np.log(positive)).sum()))


@pytest.mark.parametrize(("count", "dimension"), [(12, 40), (40, 12), (20, 20)])
def test_vendi_matches_the_definition_from_either_side(count: int, dimension: int) -> None:
    features = rows(1, count, dimension)
    assert vendi_score(features).value == pytest.approx(vendi_by_definition(features), rel=1e-9)
    assert vendi_score(features.astype(np.float32)).value == pytest.approx(vendi_by_definition(features), rel=1e-4)


def test_groups_of_equal_images_count_by_their_shares() -> None:
    """4, 2 and 2 copies of orthogonal images give the exponential of Shannon's entropy, and 1 / sum p^2."""
    features = np.repeat(1000.0 * np.eye(3, 7), [4, 2, 2], axis=0)
    assert vendi_score(features).value == pytest.approx(2.0**1.5, rel=1e-12)
    assert rke(features, 1.0).value == pytest.approx(1.0 / (0.25 + 2 * 0.0625), rel=1e-12)


@pytest.mark.parametrize("score", [vendi_score, lambda features: rke(features, 1.0)])
def test_copies_of_one_image_count_once(score: object) -> None:
    result: Estimate = score(np.full((5, 3), 2.0))  # type: ignore[operator]
    assert result.value == pytest.approx(1.0, rel=1e-12)
    assert result.standard_error == pytest.approx(0.0, abs=1e-9)


def test_rke_matches_the_definition() -> None:
    features = rows(2, 30, 6)
    squares = ((features[:, None] - features[None]) ** 2).sum(axis=2)
    kernel = np.exp(-squares / (2 * 1.7**2))
    frobenius = np.linalg.norm(kernel / 30) ** 2
    shares: list[float] = []
    assert rke(features, 1.7, progress=shares.append).value == pytest.approx(1.0 / frobenius, rel=1e-12)
    assert shares[-1] == 1.0
    spectrum = eigvalsh(kernel / 30)
    assert 1.0 / frobenius == pytest.approx(1.0 / (spectrum**2).sum(), rel=1e-12), "Renyi's entropy of order 2"


def test_the_width_is_the_median_distance() -> None:
    rows = np.array([[0.0], [0.0], [2.0]])
    assert median_width(rows, rows) == median_width(rows, rows + 0.0) == pytest.approx(2.0 / 2**0.5)
    assert median_width(np.zeros((4, 2)), np.zeros((3, 2))) == 1.0


def test_errors_match_a_jackknife() -> None:
    features = rows(3, 120, 8)
    for score in (vendi_score, lambda selected: rke(selected, 3.0)):
        without = [score(np.delete(features, row, axis=0)).value for row in range(len(features))]
        jackknife = np.sqrt(119 * np.var(without))
        assert score(features).standard_error == pytest.approx(jackknife, rel=0.1)


def test_a_single_image_is_refused() -> None:
    with pytest.raises(Invalid) as error:
        vendi_score(rows(1, 1, 3))
    assert error.value.slug == "too-few-images"
