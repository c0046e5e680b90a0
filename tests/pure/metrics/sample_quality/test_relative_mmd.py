"""The three-sample kernel test compared with values of other code and whole matrices, and cases it can detect."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from scorer.errors import Invalid
from scorer.metrics.sample_quality import kernel_sums
from scorer.metrics.sample_quality.relative_mmd import RelativeMmd, relative_mmd
from tests.examples import examples
from tests.pure.oracles import golden, relative_mmd_by_matrices

Matrix = NDArray[np.float64]


def normal(seed: int, count: int, dimension: int = 4, shift: float = 0.0) -> Matrix:
    return np.random.default_rng(seed).standard_normal((count, dimension)) + shift


def compared(generated: Any, training: Any, held_out: Any, **options: Any) -> RelativeMmd:
    return relative_mmd(generated, training, held_out, random=np.random.default_rng(0), **options)


def test_the_golden_values() -> None:
    result = compared(golden().generated, golden().training[:200], golden().held_out[:200], authors=True)
    assert result.p_closer == pytest.approx(0.7382879849, abs=1e-10)
    assert result.z == pytest.approx(-0.6380762742, abs=1e-10)
    assert result.sigma == pytest.approx(3.3782600414, abs=1e-10)
    assert result.held_out == pytest.approx(0.00010618513, abs=1e-11)
    assert result.generated == pytest.approx(0.0015350098, abs=1e-10)
    assert result.p_farther == pytest.approx(1.0 - result.p_closer)


@given(seed=st.integers(0, 2**32 - 1), count=st.integers(3, 30), dimension=st.integers(1, 6))
@settings(max_examples=examples(30), deadline=None)
def test_the_test_matches_the_definition(seed: int, count: int, dimension: int) -> None:
    sets = [normal(seed + step, count, dimension, 0.2 * step) for step in range(3)]
    result = compared(sets[2], sets[0], sets[1], authors=True)
    difference, zeta = relative_mmd_by_matrices(sets[0], sets[1], sets[2], result.sigma)
    assert result.held_out - result.generated == pytest.approx(difference, abs=1e-12)
    expected = max(0.0, 4 * (count - 2) / (count * (count - 1)) * zeta)
    assert result.standard_error**2 == pytest.approx(expected, abs=1e-13)


def test_the_variance_matches_that_of_the_authors() -> None:
    sets = golden().generated, golden().training[:200], golden().held_out[:200]
    plain = compared(*sets)
    authors_result = compared(*sets, authors=True)
    assert plain.generated == authors_result.generated
    assert plain.standard_error == pytest.approx(authors_result.standard_error, rel=0.2)


def test_the_standard_error_matches_the_spread_over_independent_samples() -> None:
    results = [
        compared(normal(seed, 100, shift=0.6), normal(seed + 1000, 100), normal(seed + 2000, 100))
        for seed in range(150)
    ]
    spread = np.std([result.held_out - result.generated for result in results], ddof=1)
    assert np.mean([result.standard_error for result in results]) == pytest.approx(spread, rel=0.2)


def test_the_sampling_error_matches_the_spread_with_fixed_references() -> None:
    training, held_out = normal(0, 100), normal(1, 100)
    results = [compared(normal(seed, 100, shift=0.6), training, held_out) for seed in range(2, 152)]
    spread = np.std([result.held_out - result.generated for result in results], ddof=1)
    assert np.mean([result.sampling_error for result in results]) == pytest.approx(spread, rel=0.2)
    assert all(result.sampling_error < 0.9 * result.standard_error for result in results)


def test_a_distant_set_is_farther() -> None:
    result = compared(normal(20, 60, shift=30.0), normal(21, 60), normal(22, 60))
    assert result.p_farther < 1e-6


def test_the_block_size_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = compared(normal(0, 45), normal(1, 45), normal(2, 45))
    monkeypatch.setattr(kernel_sums, "_BLOCK", 10)
    shares: list[float] = []
    result = compared(normal(0, 45), normal(1, 45), normal(2, 45), progress=shares.append)
    assert result.z == pytest.approx(whole.z, rel=1e-9)
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


def test_a_shift_is_detected_and_copies_are_not() -> None:
    training, held_out = normal(3, 400), normal(4, 400)
    far = compared(normal(5, 400, shift=0.5), training, held_out)
    assert far.p_farther < 1e-4
    near = compared(normal(6, 400), training, held_out + 0.5)
    assert near.p_closer < 1e-4
    copied = compared(training[np.random.default_rng(7).integers(0, 400, 400)], training, held_out)
    assert copied.p_closer > 0.01


def test_equal_sets_show_nothing() -> None:
    same = np.ones((5, 2))
    result = compared(same, same.copy(), same.copy())
    assert (result.z, result.p_closer, result.sigma) == (0.0, 0.5, 1.0)


def test_the_same_number_of_each_set_is_used() -> None:
    result = compared(normal(8, 50), normal(9, 80), normal(10, 30))
    assert result.count == 30
    assert compared(normal(8, 50), normal(9, 80), normal(10, 30), max_images=20).count == 20


def test_invalid_features_are_refused() -> None:
    with pytest.raises(Invalid) as refused:
        compared(normal(0, 9), normal(1, 9), normal(2, 2))
    assert refused.value.slug == "too-few-images"
    with pytest.raises(Invalid) as refused:
        compared(normal(0, 9, 3), normal(1, 9, 4), normal(2, 9, 4))
    assert refused.value.slug == "dimension-mismatch"
