"""Authenticity compared with golden values, the definition and held-out images."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from scorer.errors import Invalid
from scorer.metrics.copying.authenticity import authenticity_from, p_fewer
from scorer.metrics.euclidean import neighbours
from scorer.metrics.sample_quality.prdc import manifold_of
from tests.examples import examples
from tests.pure.oracles import golden, squared_distances
from tests.pure.own_passes import authenticity


def normal(seed: int, count: int, dimension: int = 6) -> NDArray[np.float64]:
    return np.random.default_rng(seed).standard_normal((count, dimension))


def test_the_golden_value() -> None:
    result = authenticity(golden().generated, golden().training)
    assert result.share == 0.785
    assert result.standard_error == pytest.approx(np.sqrt(0.785 * 0.215 / 200))


@given(seed=st.integers(0, 2**32 - 1), own=st.integers(1, 30), training=st.integers(2, 30))
@settings(max_examples=examples(40), deadline=None)
def test_authentic_images_match_the_definition(seed: int, own: int, training: int) -> None:
    generated, real = normal(seed, own, 3), normal(seed + 1, training, 3)
    between, within = squared_distances(generated, real), squared_distances(real, real)
    np.fill_diagonal(within, np.inf)
    nearest = between.argmin(axis=1)
    result = authenticity(generated, real)
    np.testing.assert_array_equal(result.authentic, within.min(axis=1)[nearest] < between.min(axis=1))


def test_copies_are_not_authentic() -> None:
    real, held_out_rows = normal(2, 300), normal(3, 300)
    copied, held_out = authenticity(real[:100], real), authenticity(held_out_rows, real)
    assert (copied.share, copied.standard_error) == (0.0, 0.0)
    assert p_fewer(copied, held_out) < 1e-12
    assert p_fewer(authenticity(normal(4, 300), real), held_out) > 0.001
    half = authenticity(np.concatenate([real[:100], normal(5, 100)]), real)
    assert half.share == pytest.approx(0.5 * held_out.share, abs=0.1)
    assert p_fewer(half, held_out) < 1e-6


def test_a_stored_manifold_gives_the_same_result() -> None:
    own, real = normal(7, 40), normal(6, 80)
    found = authenticity_from(neighbours(own, real, k=3), manifold_of(real, 5))
    np.testing.assert_array_equal(found.authentic, authenticity(own, real).authentic)


def test_a_single_training_image_is_refused() -> None:
    with pytest.raises(Invalid) as refused:
        authenticity(normal(8, 5), normal(9, 1))
    assert refused.value.slug == "too-few-images"
