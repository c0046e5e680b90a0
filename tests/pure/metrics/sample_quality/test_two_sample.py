"""The nearest-neighbour two-sample test compared with values of other code and random labels, and cases it must
detect."""

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scorer.errors import Invalid
from scorer.metrics.euclidean import neighbours
from scorer.metrics.sample_quality.two_sample import TwoSample, _accuracy, _graph, two_sample
from tests.examples import examples
from tests.pure.oracles import golden, relabelled


def tried(generated: Any, reference: Any, seed: int = 0) -> TwoSample:
    return two_sample(generated, reference, random=np.random.default_rng(seed))


def normal(seed: int, count: int, dimension: int = 5) -> Any:
    return np.random.default_rng(seed).standard_normal((count, dimension))


def test_the_golden_values() -> None:
    result = tried(golden().generated, golden().training[:200])
    assert (result.real.share, result.generated.share, result.both.share) == (0.515, 0.465, 0.49)
    assert result.count == 200


@given(seed=st.integers(0, 2**32 - 1), half=st.integers(1, 4), dimension=st.integers(1, 3))
@settings(max_examples=examples(20), deadline=None)
def test_the_moments_are_those_of_all_labellings(seed: int, half: int, dimension: int) -> None:
    """The test labels each possible half of the images as real."""
    nearest = neighbours(normal(seed, 2 * half, dimension)).index[:, 0]
    shares = []
    for chosen in combinations(range(2 * half), half):
        labels = np.isin(np.arange(2 * half), chosen)
        agreed = labels == labels[nearest]
        shares.append((agreed[labels].mean(), agreed.mean()))
    for column, kinds in ((0, 1), (1, 2)):
        values = np.array(shares)[:, column]
        accuracy = _accuracy(0.0, half, _graph(nearest), kinds=kinds)
        assert accuracy.expected == pytest.approx(values.mean(), abs=1e-12)
        assert accuracy.deviation == pytest.approx(values.std(), abs=1e-7)


def test_the_moments_at_a_larger_size() -> None:
    nearest = neighbours(normal(0, 80, 3)).index[:, 0]
    drawn = relabelled(nearest, 40, 4000, np.random.default_rng(1))
    for column, kinds in ((0, 1), (1, 2)):
        accuracy = _accuracy(0.0, 40, _graph(nearest), kinds=kinds)
        assert accuracy.expected == pytest.approx(drawn[:, column].mean(), abs=5 * accuracy.deviation / np.sqrt(4000))
        assert accuracy.deviation == pytest.approx(drawn[:, column].std(), rel=0.06)


def test_p_values_are_uniform_for_samples_of_one_law() -> None:
    values = np.array([tried(normal(seed, 80), normal(seed + 1000, 80)).both.p_above for seed in range(200)])
    assert abs((values < 0.2).mean() - 0.2) < 0.09
    assert abs((values > 0.8).mean() - 0.2) < 0.09


def test_copies_shifts_and_collapse_are_detected() -> None:
    real = normal(2, 300)
    copied = tried(real + 1e-6 * normal(3, 300), real)
    assert copied.real.share == copied.generated.share == 0.0
    assert copied.both.p_below < 1e-12
    apart = tried(normal(4, 300) + 5.0, real)
    assert apart.both.share == 1.0
    assert apart.both.p_above < 1e-12
    collapsed = tried(normal(5, 300)[:1] + 0.01 * normal(6, 300), real)
    assert collapsed.generated.share == 1.0
    narrow = tried(0.5 * normal(7, 300), real)
    assert narrow.generated.share > narrow.real.share


def test_ties_are_broken_with_equal_chances() -> None:
    """Every point has two real and two generated images, so one of the three other images is of the same kind."""
    real = np.repeat(normal(8, 150), 2, axis=0)
    result = tried(real.copy(), real)
    assert result.real.share == pytest.approx(1 / 3, abs=0.1)
    assert result.generated.share == pytest.approx(1 / 3, abs=0.1)


def test_the_larger_set_is_sampled() -> None:
    generated, real = normal(9, 60), normal(10, 200)
    result = tried(generated, real, 1)
    assert result.count == 60
    assert tried(generated, real, 1) == result
    assert tried(generated, real, 2) != result


def test_too_few_images_are_refused() -> None:
    with pytest.raises(Invalid) as refused:
        tried(normal(11, 1), normal(12, 9))
    assert refused.value.slug == "too-few-images"
