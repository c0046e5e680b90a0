"""KID compared with its definition, a value of other code and the spread over samples."""

import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from scorer.errors import Invalid
from scorer.metrics.features import Estimate
from scorer.metrics.pairing import Pairing, go_through
from scorer.metrics.sample_quality import kernel_sums
from scorer.metrics.sample_quality.kid import KernelRowSums, reference_sums_of, squared_mmd, squared_mmd_of
from tests.examples import examples
from tests.pure.oracles import golden, mmd_by_pairs

Matrix = NDArray[np.float64]


def rows(seed: int, count: int, dimension: int, shift: float = 0.0) -> Matrix:
    return np.random.default_rng(seed).standard_normal((count, dimension)) + shift


# The value


def test_the_golden_value() -> None:
    mmd = squared_mmd(golden().generated, golden().training[:200])
    assert mmd.value == pytest.approx(0.016610155673129512, rel=1e-12)


def test_a_small_example() -> None:
    """In one dimension, k(1, 2) = 27, k(0, 3) = 1, and the mean across the sets is (1 + 64 + 1 + 343) / 4."""
    mmd = squared_mmd(np.array([[1.0], [2.0]]), np.array([[0.0], [3.0]]))
    assert mmd.value == 27.0 + 1.0 - 2.0 * (1.0 + 64.0 + 1.0 + 343.0) / 4.0


@given(seed=st.integers(0, 2**32 - 1), own=st.integers(2, 9), other=st.integers(2, 9), d=st.integers(1, 12))
@settings(max_examples=examples(40), deadline=None)
def test_the_value_matches_the_definition_and_is_symmetric(seed: int, own: int, other: int, d: int) -> None:
    generated = rows(seed, own, d)
    reference = rows(seed + 1, other, d, 0.3)
    mmd = squared_mmd(generated, reference).value
    scale = float(np.square(generated).sum(axis=1).max() + np.square(reference).sum(axis=1).max()) / d + 1.0
    assert mmd == pytest.approx(mmd_by_pairs(generated, reference), abs=1e-13 * scale**3)
    assert mmd == pytest.approx(squared_mmd(reference, generated).value, abs=1e-13 * scale**3)


def test_the_block_size_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    generated = rows(0, 41, 7)
    reference = rows(1, 30, 7, 0.2)
    whole = squared_mmd(generated, reference)
    for size in (1, 10, 40):
        monkeypatch.setattr(kernel_sums, "_BLOCK", size)
        mmd = squared_mmd(generated, reference)
        assert mmd.value == pytest.approx(whole.value, rel=1e-12)
        assert mmd.standard_error == pytest.approx(whole.standard_error, rel=1e-12)


def test_float32_features_are_computed_in_float64() -> None:
    generated, reference = rows(2, 60, 20).astype(np.float32), rows(3, 70, 20).astype(np.float32)
    exact = squared_mmd(generated.astype(np.float64), reference.astype(np.float64))
    assert squared_mmd(generated, reference) == exact


# Statistics


def test_two_samples_of_one_law_average_zero_and_have_both_signs() -> None:
    values = np.array([squared_mmd(rows(2 * seed, 30, 5), rows(2 * seed + 1, 45, 5)).value for seed in range(400)])
    assert abs(values.mean()) < 3.0 * values.std(ddof=1) / np.sqrt(len(values))
    assert 0.2 < float((values < 0.0).mean()) < 0.8


def test_the_standard_error_matches_the_spread_over_entries() -> None:
    reference = rows(0, 400, 5, 0.5)
    results = [squared_mmd(rows(1 + seed, 300, 5), reference) for seed in range(300)]
    spread = np.std([result.value for result in results], ddof=1)  # has an error of 4 %
    assert np.mean([result.standard_error for result in results]) == pytest.approx(spread, rel=0.1)


def test_order_and_rotation_do_not_matter() -> None:
    random = np.random.default_rng(14)
    generated = rows(15, 50, 9)
    reference = rows(16, 40, 9, 0.4)
    mmd = squared_mmd(generated, reference).value
    rotation = np.linalg.qr(random.standard_normal((9, 9)))[0]
    assert squared_mmd(random.permutation(generated), random.permutation(reference)).value == pytest.approx(
        mmd, rel=1e-11
    )
    assert squared_mmd(generated @ rotation, reference @ rotation).value == pytest.approx(mmd, rel=1e-11)


def test_the_value_grows_with_a_shift() -> None:
    reference = rows(17, 300, 6)
    values = [squared_mmd(rows(18, 300, 6, shift), reference).value for shift in (0.0, 0.3, 0.6, 1.2)]
    assert values == sorted(values)
    assert values[-1] > 10 * abs(values[0])


# Progress and refusals


def test_progress_rises_to_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_sums, "_BLOCK", 10)
    generated, reference = rows(19, 45, 3), rows(20, 30, 3)
    shares: list[float] = []
    squared_mmd(generated, reference, progress=shares.append)
    assert shares == sorted(shares)
    assert 0.0 < shares[0] < shares[-1] == 1.0
    assert len(shares) == 13


@pytest.mark.parametrize(
    ("generated", "reference", "slug"),
    [
        (rows(0, 1, 3), rows(1, 5, 3), "too-few-images"),
        (rows(0, 5, 3), rows(1, 1, 3), "too-few-images"),
        (rows(0, 20, 3), rows(1, 20, 4), "dimension-mismatch"),
        (rows(0, 20, 3) * np.nan, rows(1, 20, 3), "degenerate-features"),
        (np.ones((20, 3), int), rows(1, 20, 3), "bad-features"),
    ],
)
def test_invalid_features_are_refused(generated: NDArray[Any], reference: NDArray[Any], slug: str) -> None:
    with pytest.raises(Invalid) as refused:
        squared_mmd(generated, reference)
    assert refused.value.slug == slug


def test_the_whole_matrix_is_never_in_memory() -> None:
    generated, reference = rows(21, 5000, 4), rows(22, 7000, 4)
    tracemalloc.start()
    squared_mmd(generated, reference)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 8 * 5000 * 7000 / 5


# From the products of a distance pass


def by_pass(generated: NDArray[np.float32], reference: NDArray[np.float32]) -> Estimate:
    pairings = Pairing(generated), Pairing(generated, reference)
    sums = [KernelRowSums(pairing) for pairing in pairings]
    for pairing, row_sums in zip(pairings, sums, strict=True):
        go_through(pairing, [row_sums])
    own, across = (row_sums.result() for row_sums in sums)
    return squared_mmd_of(own, across, reference_sums_of(reference))


@pytest.mark.parametrize("scale", [1e-20, 1.0, 30.0])
@pytest.mark.parametrize("shift", [0.0, 4.0])
def test_sums_of_float32_products_match_those_of_float64(scale: float, shift: float) -> None:
    generated, reference = ((scale * rows(seed, n, 64, shift)).astype(np.float32) for seed, n in ((20, 300), (21, 500)))
    found, expected = by_pass(generated, reference), squared_mmd(generated, reference)
    assert expected.standard_error is not None
    assert found.value == pytest.approx(expected.value, abs=1e-3 * expected.standard_error)
    assert found.standard_error == pytest.approx(expected.standard_error, rel=1e-5, abs=1e-15)


def test_the_rounding_of_float32_products_is_far_below_the_error() -> None:
    """The kernels are as large as for pooled features. Both sets have one law, so the means nearly cancel."""
    generated, reference = (np.abs(rows(seed, 1500, 256)).astype(np.float32) for seed in (22, 23))
    found, expected = by_pass(generated, reference), squared_mmd(generated, reference)
    assert expected.standard_error is not None
    assert abs(found.value - expected.value) < 1e-5 * expected.standard_error
