"""Distances of parts from shared products match the distances of the parts alone, with any spectrum."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from scorer.errors import Invalid
from scorer.metrics.sample_quality import fid_infinity
from scorer.metrics.sample_quality.fid_infinity import PartDistances
from scorer.metrics.sample_quality.frechet import Statistics, frechet_distance, statistics_of

Rows = NDArray[np.floating[Any]]


def rows(seed: int, count: int, dimension: int, *, decay: float) -> Rows:
    """Correlated features far from the origin, with variances that decrease as a power of the axis number."""
    random = np.random.default_rng(seed)
    axes = np.linalg.qr(np.random.default_rng(dimension).standard_normal((dimension, dimension)))[0]
    scale = np.arange(1, dimension + 1.0) ** -decay
    return np.asarray(random.standard_normal((count, dimension)) * scale @ axes + 3.0)


def draw_parts(count: int, sizes: tuple[int, ...]) -> list[NDArray[np.int64]]:
    random = np.random.default_rng(5)
    return [np.sort(random.choice(count, size, replace=False)) for size in sizes]


def spread(features: Rows, reference: Statistics) -> float:
    return float(features.var(axis=0, ddof=1).sum() + np.trace(reference.covariance))


@pytest.mark.parametrize("decay", [0.0, 1.0, 2.0, 4.0])
@pytest.mark.parametrize("precision", [np.float32, np.float64])
def test_distances_match_those_of_the_parts_alone(decay: float, precision: Any) -> None:
    features, reference = rows(1, 500, 40, decay=decay).astype(precision), statistics_of(rows(2, 700, 40, decay=decay))
    distances = PartDistances(features, reference)
    for part in draw_parts(500, (100, 249, 251, 400, 500)):
        expected = frechet_distance(statistics_of(features[part]), reference)
        assert abs(distances.distance(part) - expected) <= 1e-9 * spread(features[part], reference)


def test_regular_parts_need_only_the_shared_products(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fid_infinity, "statistics_of", None)
    features, reference = rows(3, 300, 30, decay=0.5), statistics_of(rows(4, 300, 30, decay=0.5))
    assert PartDistances(features, reference).distance(np.arange(200)) > 0.0


@pytest.mark.parametrize("case", ["few rows", "a constant feature", "copies", "singular reference"])
def test_singular_parts_are_exact(case: str) -> None:
    features, real = rows(5, 300, 30, decay=0.5), rows(6, 300, 30, decay=0.5)
    part = np.arange(20) if case == "few rows" else np.arange(150)
    if case == "a constant feature":
        features[:150, 3] = 1.0
    if case == "copies":
        features[:150] = features[np.arange(150) % 10]
    if case == "singular reference":
        real[:, 4] = real[:, 5]
    reference = statistics_of(real)
    expected = frechet_distance(statistics_of(features[part]), reference)
    found = PartDistances(features, reference).distance(part)
    assert abs(found - expected) <= 1e-9 * spread(features[part], reference)


@pytest.mark.parametrize(
    ("features", "slug"),
    [(np.ones((5, 3)), "dimension-mismatch"), (np.full((5, 2), np.nan), "degenerate-features")],
)
def test_invalid_features_are_refused(features: Rows, slug: str) -> None:
    with pytest.raises(Invalid) as refused:
        PartDistances(features, statistics_of(np.random.default_rng(0).standard_normal((9, 2))))
    assert refused.value.slug == slug
