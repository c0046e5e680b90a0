"""Precision, recall, density and coverage compared with their definitions, values of other code, known shapes and the
spread over independent samples."""

from dataclasses import astuple
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from scorer.errors import Invalid
from scorer.metrics import pairing
from scorer.metrics.sample_quality.prdc import CoverageCounter, Prdc, manifold_of, prdc_with_error
from tests.examples import examples
from tests.pure.oracles import golden, overlap_by_definition

Rows = NDArray[np.floating[Any]]


def spread_out(seed: int, count: int, dimension: int) -> Rows:
    return np.random.default_rng(seed).standard_normal((count, dimension))


def on_a_grid(seed: int, count: int, dimension: int) -> Rows:
    return np.random.default_rng(seed).integers(0, 3, (count, dimension)).astype(np.float64)


def expected(generated: Rows, reference: Rows, k: int, density_k: int) -> Prdc:
    own = overlap_by_definition(generated, reference, k, strict=False)
    dense = overlap_by_definition(generated, reference, density_k, strict=False)
    return Prdc(own["precision"], own["recall"], dense["density"], dense["coverage"])


def overlap(generated: Rows, reference: Rows, **options: Any) -> Prdc:
    return prdc_with_error(generated, reference, **options)[0]


def approximately(result: Prdc, other: Prdc) -> bool:
    """Counts are integers, so any real difference is larger than the rounding of a quotient."""
    return np.allclose(tuple(vars(result).values()), tuple(vars(other).values()), rtol=1e-14, atol=0)


# The values


@pytest.mark.parametrize("precision", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("k", "values"),
    [(5, (0.77, 0.9066667, 0.798, 0.8866667)), (3, (0.665, 0.8133333, 0.7866667, 0.73))],
)
def test_the_golden_values(k: int, values: tuple[float, ...], precision: type[np.floating[Any]]) -> None:
    generated, training = golden().generated.astype(precision), golden().training.astype(precision)
    result = overlap(generated, training, k=k, density_k=k)
    assert tuple(vars(result).values()) == pytest.approx(values, abs=5e-8)


@given(
    seed=st.integers(0, 2**32 - 1),
    sizes=st.tuples(st.integers(6, 40), st.integers(6, 40), st.integers(1, 10)),
    ks=st.tuples(st.integers(1, 5), st.integers(1, 5)),
    kind=st.sampled_from([spread_out, on_a_grid]),
)
@settings(max_examples=examples(60), deadline=None)
def test_values_match_the_definition_even_on_ties(
    seed: int, sizes: tuple[int, int, int], ks: tuple[int, int], kind: Any
) -> None:
    generated, reference = kind(seed, sizes[0], sizes[2]), kind(seed + 1, sizes[1], sizes[2])
    result = overlap(generated, reference, k=ks[0], density_k=ks[1])
    assert approximately(result, expected(generated, reference, *ks))


def test_a_small_example() -> None:
    """Real 0, 1, 3 have the radii 1, 1, 2, and generated 4 and 2 the radius 2. 2 is on the border of the ball of 1."""
    real, generated = np.array([[0.0], [1.0], [3.0]]), np.array([[2.0], [4.0]])
    assert overlap(generated, real, k=1, density_k=1) == Prdc(1.0, 1.0, 1.0, 1 / 3)
    border = np.array([[2.0], [-1.0]])  # on the borders of the balls of 1 and 0, and inside that of 3
    result = overlap(border, real, k=1, density_k=1)
    assert (result.precision, result.density, result.coverage) == (1.0, 0.5, 1 / 3)


def test_the_defaults_are_those_of_the_papers() -> None:
    generated, reference = spread_out(0, 60, 6), spread_out(1, 70, 6)
    assert overlap(generated, reference) == overlap(generated, reference, k=3, density_k=5)
    assert overlap(generated, reference) != overlap(generated, reference, k=5, density_k=5)


# Copies: ties must stay ties


@pytest.mark.parametrize("precision", [np.float32, np.float64])
@pytest.mark.parametrize("same", [True, False])
def test_a_perfect_copy(precision: type[np.floating[Any]], same: bool) -> None:
    """Each ball contains its centre and k - 1 other images, with the k-th on its border. The density is exactly 1."""
    reference = (spread_out(2, 200, 40) + 5.0).astype(precision)
    generated = reference if same else reference[::-1].copy()
    assert overlap(generated, reference) == Prdc(1.0, 1.0, 1.0, 1.0)


def test_many_copies_of_one_real_image() -> None:
    """All are precise. With radius 0, they recall only their own original."""
    reference = spread_out(3, 80, 10)
    generated = np.repeat(reference[7:8], 50, axis=0)
    result = overlap(generated, reference)
    assert (result.precision, result.recall) == (1.0, 1 / 80)
    assert approximately(result, expected(generated, reference, 3, 5))


@pytest.mark.parametrize("noise", [1e-7, 1e-5, 1e-3])
def test_collapse_to_a_few_points(noise: float) -> None:
    reference = spread_out(4, 80, 16)
    generated = reference[np.arange(60) % 4] + noise * spread_out(5, 60, 16)
    assert approximately(overlap(generated, reference), expected(generated, reference, 3, 5))


# Shapes


def test_a_narrow_set_inside_a_wide_one_is_precise_with_low_recall() -> None:
    """This fixes which of both values is the precision, as in the test of torch-fidelity."""
    random = np.random.default_rng(6)
    generated, real = 0.1 * random.standard_normal((200, 16)), 3.0 * random.standard_normal((200, 16))
    result = overlap(generated, real)
    assert result.precision > 0.8
    assert result.recall < 0.3
    swapped = overlap(real, generated)
    assert (swapped.precision, swapped.recall) == (result.recall, result.precision)


def test_two_samples_of_one_law() -> None:
    results = [overlap(spread_out(seed, 300, 4), spread_out(seed + 100, 300, 4)) for seed in range(20)]
    assert np.mean([result.density for result in results]) == pytest.approx(1.0, abs=0.05)
    # The expectation 1 - (m - 1) ... (m - k) / ((n + m - 1) ... (n + m - k)) for n = m = 300 and k = 5
    chance = 1.0 - np.prod([(300 - step) / (600 - step) for step in range(1, 6)])
    assert np.mean([result.coverage for result in results]) == pytest.approx(chance, abs=0.02)


def test_distant_sets_do_not_overlap() -> None:
    assert overlap(spread_out(7, 50, 5) + 100.0, spread_out(8, 50, 5)) == Prdc(0.0, 0.0, 0.0, 0.0)


def test_order_shift_scale_and_rotation_do_not_matter() -> None:
    random = np.random.default_rng(9)
    generated, reference = spread_out(10, 90, 7), spread_out(11, 80, 7)
    result = overlap(generated, reference)
    rotation = np.linalg.qr(random.standard_normal((7, 7)))[0]
    assert overlap(random.permutation(generated), random.permutation(reference)) == result
    assert overlap(generated @ rotation, reference @ rotation) == result
    assert overlap(generated + 3.0, reference + 3.0) == result
    assert overlap(0.01 * generated, 0.01 * reference) == result


# Storing, errors and refusals


def test_a_manifold_also_has_its_nearer_neighbours() -> None:
    reference = spread_out(13, 50, 5)
    np.testing.assert_array_equal(manifold_of(reference, 7).limits(2), manifold_of(reference, 2).limits(2))
    with pytest.raises(Invalid, match="k is 5; with this manifold it must be from 1 to 4"):
        manifold_of(reference, 4).limits(5)


def test_the_strip_size_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    generated, reference = spread_out(14, 45, 5), spread_out(15, 40, 5)
    whole = overlap(generated, reference)
    monkeypatch.setattr(pairing, "_STRIP_ROWS", 7)
    assert overlap(generated, reference) == whole


def test_progress_rises_to_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pairing, "_STRIP_ROWS", 7)
    shares: list[float] = []
    overlap(spread_out(17, 50, 5), spread_out(16, 40, 5), progress=shares.append)
    assert shares == sorted(shares)
    assert 0.0 < shares[0] < shares[-1] == 1.0
    assert len(shares) == 8 + 6 + 8


@pytest.mark.parametrize(
    ("generated", "reference", "slug"),
    [
        (np.ones((9, 4)), np.ones((9, 5)), "dimension-mismatch"),
        (np.ones(4), np.ones((9, 4)), "bad-features"),
        (np.ones((3, 4)), np.ones((9, 4)), "too-few-images"),
        (np.ones((9, 4)), np.ones((5, 4)), "too-few-images"),
        (np.full((9, 4), np.nan), np.ones((9, 4)), "degenerate-features"),
    ],
)
def test_invalid_features_are_refused(generated: NDArray[Any], reference: Any, slug: str) -> None:
    with pytest.raises(Invalid) as refused:
        overlap(generated, reference)
    assert refused.value.slug == slug


def by_leaving_out(inside: NDArray[np.bool_]) -> float:
    """The jackknife's standard error of the covered share: each set is left out in turn."""
    sets = len(inside)
    shares = [np.delete(inside, number, axis=0).any(axis=0).mean() for number in range(sets)]
    return float(np.sqrt((sets - 1) / sets * np.square(np.array(shares) - np.mean(shares)).sum()))


@pytest.mark.parametrize("block", [1, 7, 40])
@pytest.mark.parametrize("density", [0.0, 0.01, 0.05, 1.0])
def test_the_coverage_counter_matches_the_definition(block: int, density: float) -> None:
    inside = np.random.default_rng(0).random((40, 90)) < density
    cover = CoverageCounter(90)
    for start in range(0, 40, block):
        cover.add(inside[start : start + block], start)
    assert cover.share == inside.any(axis=0).mean()
    alone = inside.sum(axis=0) == 1
    np.testing.assert_array_equal(cover.exclusive_counts(40), inside[:, alone].sum(axis=1))
    assert cover.set_error(40) == pytest.approx(by_leaving_out(inside), abs=1e-12)


@pytest.mark.parametrize(("dimension", "scale"), [(4, 1.0), (8, 1.3), (16, 0.8)])
def test_the_errors_are_at_least_the_spread_over_independent_samples(dimension: int, scale: float) -> None:
    reference = np.random.default_rng(1).standard_normal((200, dimension))
    drawn = [
        prdc_with_error(scale * np.random.default_rng(seed).standard_normal((150, dimension)), reference)
        for seed in range(10, 110)
    ]
    spread = np.std([astuple(values) for values, _ in drawn], axis=0, ddof=1)
    ratio = np.mean([astuple(error) for _, error in drawn], axis=0) / spread
    assert ratio[[0, 2]] == pytest.approx([1.0, 1.0], abs=0.25)  # precision and density: means
    assert ((ratio[[1, 3]] > 0.8) & (ratio[[1, 3]] < 2.2)).all()  # recall and coverage: the jackknife is conservative


def test_errors_of_precision_and_of_a_copy_have_closed_forms() -> None:
    generated, reference = np.random.default_rng(2).standard_normal((2, 60, 5))
    values, error = prdc_with_error(generated, reference)
    assert error.precision == pytest.approx(np.sqrt(values.precision * (1 - values.precision) / 60))
    copied = prdc_with_error(reference, reference)[1]
    assert copied.precision == copied.coverage == 0.0
