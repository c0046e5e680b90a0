"""KID against its definition, others' code and its own statistics."""

import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from scorer.errors import Invalid
from scorer.metrics.sample_quality import kernel_sums
from scorer.metrics.sample_quality.kid import KernelInceptionDistance, kernel_inception_distance, squared_mmd
from tests.examples import examples
from tests.pure.oracles import golden, mmd_by_pairs

Matrix = NDArray[np.float64]


def rows(seed: int, count: int, dimension: int, shift: float = 0.0) -> Matrix:
    return np.random.default_rng(seed).standard_normal((count, dimension)) + shift


def kid(generated: NDArray[Any], reference: NDArray[Any], seed: int = 0, **options: Any) -> KernelInceptionDistance:
    return kernel_inception_distance(generated, reference, random=np.random.default_rng(seed), **options)


# The value


def test_the_golden_value() -> None:
    mmd = squared_mmd(golden().generated, golden().training[:200])
    assert mmd.value == pytest.approx(0.016610155673129512, rel=1e-12)


def test_by_hand() -> None:
    """In one dimension: k(1, 2) = 27, k(0, 3) = 1, across (1 + 64 + 1 + 343) / 4."""
    mmd = squared_mmd(np.array([[1.0], [2.0]]), np.array([[0.0], [3.0]]))
    assert mmd.value == 27.0 + 1.0 - 2.0 * (1.0 + 64.0 + 1.0 + 343.0) / 4.0


@given(seed=st.integers(0, 2**32 - 1), own=st.integers(2, 9), other=st.integers(2, 9), d=st.integers(1, 12))
@settings(max_examples=examples(40), deadline=None)
def test_it_is_the_definition_and_symmetric(seed: int, own: int, other: int, d: int) -> None:
    generated = rows(seed, own, d)
    reference = rows(seed + 1, other, d, 0.3)
    mmd = squared_mmd(generated, reference).value
    scale = float(np.square(generated).sum(axis=1).max() + np.square(reference).sum(axis=1).max()) / d + 1.0
    assert mmd == pytest.approx(mmd_by_pairs(generated, reference), abs=1e-13 * scale**3)
    assert mmd == pytest.approx(squared_mmd(reference, generated).value, abs=1e-13 * scale**3)


def test_blocks_meet_without_a_seam(monkeypatch: pytest.MonkeyPatch) -> None:
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
    options = {"subsets": 3, "subset_size": 40}
    assert kid(generated, reference, **options) == kid(
        generated.astype(np.float64), reference.astype(np.float64), **options
    )


# Subsets


def test_a_subset_of_everything_is_everything() -> None:
    generated = rows(4, 80, 10)
    reference = rows(5, 80, 10, 0.2)
    result = kid(generated, reference, subsets=4, subset_size=80)
    assert result.mean == pytest.approx(squared_mmd(generated, reference).value, rel=1e-11)
    assert result.subset_deviation == pytest.approx(0.0, abs=1e-13)


def test_the_mean_and_its_spread_are_those_of_the_subsets() -> None:
    generated = rows(6, 90, 8)
    reference = rows(7, 120, 8, 0.3)
    result = kid(generated, reference, seed=5, subsets=6, subset_size=30)
    random = np.random.default_rng(5)
    values = []
    for _ in range(6):
        own = generated[random.choice(90, 30, replace=False)]
        values.append(squared_mmd(own, reference[random.choice(120, 30, replace=False)]).value)
    assert result.mean == pytest.approx(np.mean(values), rel=1e-11)
    assert result.subset_deviation == pytest.approx(np.std(values, ddof=1), rel=1e-11)
    assert result.resampling_error == pytest.approx(np.std(values, ddof=1) / np.sqrt(6), rel=1e-11)
    assert (result.subsets, result.subset_size) == (6, 30)


def test_the_same_seed_gives_the_same_bits_and_another_seed_others() -> None:
    generated, reference = rows(8, 90, 8), rows(9, 90, 8)
    options = {"subsets": 5, "subset_size": 40}
    assert kid(generated, reference, 1, **options) == kid(generated, reference, 1, **options)
    assert kid(generated, reference, 1, **options).mean != kid(generated, reference, 2, **options).mean


def test_one_subset_has_no_spread() -> None:
    result = kid(rows(10, 20, 4), rows(11, 20, 4), subsets=1, subset_size=10)
    assert (result.subset_deviation, result.resampling_error) == (None, None)


def test_the_defaults_are_the_papers() -> None:
    result = kid(rows(12, 1000, 2), rows(13, 1001, 2))
    assert (result.subsets, result.subset_size) == (100, 1000)


# Statistics


def test_two_samples_of_one_law_are_at_zero_on_average_and_on_either_side_of_it() -> None:
    values = np.array([squared_mmd(rows(2 * seed, 30, 5), rows(2 * seed + 1, 45, 5)).value for seed in range(400)])
    assert abs(values.mean()) < 3.0 * values.std(ddof=1) / np.sqrt(len(values))
    assert 0.2 < float((values < 0.0).mean()) < 0.8


def test_the_standard_error_is_the_spread_over_fresh_samples() -> None:
    results = [squared_mmd(rows(2 * seed, 300, 5), rows(2 * seed + 1, 400, 5, 0.5)) for seed in range(300)]
    spread = np.std([each.value for each in results], ddof=1)  # itself known to 4 %
    assert np.mean([each.standard_error for each in results]) == pytest.approx(spread, rel=0.15)


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


def test_a_shift_is_seen() -> None:
    reference = rows(17, 300, 6)
    values = [squared_mmd(rows(18, 300, 6, shift), reference).value for shift in (0.0, 0.3, 0.6, 1.2)]
    assert values == sorted(values)
    assert values[-1] > 10 * abs(values[0])


# Sentences and refusals


def test_progress_rises_to_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_sums, "_BLOCK", 10)
    for call in (
        lambda tell: squared_mmd(rows(19, 45, 3), rows(20, 30, 3), progress=tell),
        lambda tell: kid(rows(19, 45, 3), rows(20, 30, 3), subsets=9, subset_size=5, progress=tell),
    ):
        shares: list[float] = []
        call(shares.append)
        assert shares == sorted(shares)
        assert 0.0 < shares[0] < shares[-1] == 1.0
        assert len(shares) >= 9


@pytest.mark.parametrize(
    ("generated", "reference", "options", "slug"),
    [
        (rows(0, 9, 3), rows(1, 20, 3), {"subset_size": 10}, "too-few-images"),
        (rows(0, 20, 3), rows(1, 9, 3), {"subset_size": 10}, "too-few-images"),
        (rows(0, 20, 3), rows(1, 20, 4), {"subset_size": 10}, "dimension-mismatch"),
        (rows(0, 20, 3), rows(1, 20, 3), {"subset_size": 1}, "bad-count"),
        (rows(0, 20, 3), rows(1, 20, 3), {"subset_size": 10, "subsets": 0}, "bad-count"),
        (rows(0, 20, 3) * np.nan, rows(1, 20, 3), {"subset_size": 10}, "degenerate-features"),
        (np.ones((20, 3), int), rows(1, 20, 3), {"subset_size": 10}, "bad-features"),
    ],
)
def test_what_cannot_be_compared_is_refused(
    generated: NDArray[Any], reference: NDArray[Any], options: dict[str, int], slug: str
) -> None:
    with pytest.raises(Invalid) as refused:
        kid(generated, reference, **options)
    assert refused.value.slug == slug


def test_a_single_image_has_no_discrepancy() -> None:
    with pytest.raises(Invalid) as refused:
        squared_mmd(rows(0, 1, 3), rows(1, 5, 3))
    assert refused.value.slug == "too-few-images"


def test_the_whole_matrix_is_never_held() -> None:
    generated, reference = rows(21, 5000, 4), rows(22, 7000, 4)
    tracemalloc.start()
    squared_mmd(generated, reference)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 8 * 5000 * 7000 / 5
