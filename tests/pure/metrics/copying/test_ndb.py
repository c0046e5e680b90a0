"""NDB and its cells compared with the tests and the divergence of scipy."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import jensenshannon
from scipy.stats import chi2_contingency, norm

from scorer.errors import Invalid
from scorer.metrics.copying.ndb import bins_of, compare_counts, compare_with_bins, excess_of, ndb_of
from tests.examples import examples


def normal(seed: int, count: int, shift: float = 0.0) -> Any:
    return np.random.default_rng(seed).standard_normal((count, 6)) + shift


@given(
    counts=st.lists(st.tuples(st.integers(0, 300), st.integers(1, 300)), min_size=2, max_size=30).filter(
        lambda pairs: any(own for own, _ in pairs)
    )
)
@settings(max_examples=examples(60), deadline=None)
def test_comparisons_match_scipy(counts: list[tuple[int, int]]) -> None:
    own, training = np.array(counts, np.int64).T
    comparison = compare_counts(own, training)
    assert comparison.divergence == pytest.approx(jensenshannon(own, training) ** 2, abs=1e-12)
    assert comparison.p_value == pytest.approx(chi2_contingency([own, training], correction=False).pvalue, rel=1e-9)
    different = 0
    for one, other in counts:
        table = [[one, own.sum() - one], [other, training.sum() - other]]
        alone = not np.all(np.sum(table, axis=1)) or not np.all(np.sum(table, axis=0))
        different += not alone and bool(chi2_contingency(table, correction=False).statistic > norm.isf(0.025) ** 2)
    assert comparison.different == different
    assert comparison.share == different / len(counts)
    assert 0.0 <= comparison.divergence <= np.log(2.0) + 1e-12


def test_the_error_of_the_divergence_matches_its_spread() -> None:
    random = np.random.default_rng(0)
    q = np.array([0.1, 0.2, 0.3, 0.4])
    p = np.full(4, 0.25)
    training = random.multinomial(900, p)
    drawn = [compare_counts(random.multinomial(500, q), training) for _ in range(600)]
    spread = np.std([comparison.divergence for comparison in drawn], ddof=1)
    assert np.mean([comparison.divergence_error for comparison in drawn]) == pytest.approx(spread, rel=0.12)
    alike = [compare_counts(random.multinomial(500, p), training) for _ in range(600)]
    assert np.mean([comparison.divergence_error for comparison in alike]) > 0.9 * np.std(
        [comparison.divergence for comparison in alike]
    )


def test_two_samples_of_one_law() -> None:
    random = np.random.default_rng(1)
    shares = random.dirichlet(np.full(100, 5.0))
    drawn = [compare_counts(random.multinomial(5000, shares), random.multinomial(9000, shares)) for _ in range(200)]
    assert np.mean([comparison.share for comparison in drawn]) == pytest.approx(0.05, abs=0.01)
    assert np.std([comparison.share for comparison in drawn]) == pytest.approx(drawn[0].deviation, rel=0.2)
    assert np.mean([comparison.divergence for comparison in drawn]) == pytest.approx(
        drawn[0].expected_divergence, rel=0.1
    )
    assert abs(np.mean([comparison.p_value < 0.2 for comparison in drawn]) - 0.2) < 0.09


def test_collapse_and_a_shift_are_detected_and_copies_are_not() -> None:
    training = normal(2, 600)
    bins = bins_of(training, 10, seed=0)
    assert bins.training.sum() == 600
    copied = compare_with_bins(training, bins)
    assert (copied.different, copied.divergence, copied.p_value) == (0, 0.0, 1.0)
    collapsed = compare_with_bins(np.repeat(training[:1], 300, axis=0), bins)
    assert collapsed.share > 0.5
    assert collapsed.p_value < 1e-12
    assert (
        compare_with_bins(normal(3, 400, 1.0), bins).divergence > 5 * compare_with_bins(normal(4, 400), bins).divergence
    )


def test_one_bin_shows_nothing() -> None:
    comparison = compare_counts(np.array([5]), np.array([9]))
    assert (comparison.different, comparison.divergence, comparison.p_value) == (0, 0.0, 1.0)


def test_an_entry_without_images_is_refused() -> None:
    with pytest.raises(Invalid) as refused:
        compare_counts(np.array([0, 0]), np.array([1, 2]))
    assert refused.value.slug == "too-few-images"


COUNTS = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), min_size=1, max_size=8).filter(
    lambda cells: min(sum(column) for column in zip(*cells, strict=True)) > 0
)


@given(cells=COUNTS)
def test_the_square_of_the_excess_is_the_chi_squared_statistic(cells: list[tuple[int, int]]) -> None:
    generated, held_out = (np.array(column) for column in zip(*cells, strict=True))
    m, n = generated.sum(), held_out.sum()
    for own, other, z in zip(generated, held_out, excess_of(generated, held_out), strict=True):
        if own + other in {0, m + n}:
            assert z == 0.0
            continue
        table = [[other, n - other], [own, m - own]]
        assert z**2 == pytest.approx(chi2_contingency(table, correction=False).statistic, rel=1e-9, abs=1e-12)
        assert np.sign(z) == np.sign(own * n - other * m)


def test_cells_with_significant_excess_are_counted_by_sign() -> None:
    assert ndb_of(np.array([1.64, 1.65, -1.64, -1.65, -9.0, 0.0])) == (1, 2)
    assert ndb_of(np.array([1.64, -1.64]), level=0.1) == (1, 1)


def test_five_percent_of_honest_cells_count_on_either_side() -> None:
    random = np.random.default_rng(1)
    counts = np.array(
        [ndb_of(excess_of(*(random.multinomial(size, [0.05] * 20) for size in (1000, 600)))) for _ in range(400)]
    )
    assert counts.mean(axis=0) / 20 == pytest.approx([0.05, 0.05], abs=0.01)


def test_without_images_there_are_no_shares() -> None:
    with pytest.raises(Invalid):
        excess_of(np.array([0, 0]), np.array([3, 4]))
