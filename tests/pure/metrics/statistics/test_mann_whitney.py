"""The Mann-Whitney test against its definition, its exact distribution, and Meehan et al. 2020, section 3.3."""

import itertools
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import mannwhitneyu, norm

from scorer.errors import Invalid
from scorer.metrics.statistics.mann_whitney import MannWhitney, mann_whitney
from tests.examples import examples

COARSE = st.lists(st.integers(0, 4), min_size=1, max_size=12)  # mostly ties
DISTINCT = st.lists(st.integers(-1000, 1000), min_size=2, max_size=8, unique=True)


def compared(high: Sequence[float], low: Sequence[float]) -> MannWhitney:
    return mann_whitney(np.array(high, np.float64), np.array(low, np.float64))


def wins(high: Sequence[float], low: Sequence[float]) -> float:
    return sum(1.0 if q > p else 0.5 if q == p else 0.0 for q in high for p in low)


def splits(values: Sequence[float], size: int) -> list[MannWhitney]:
    """The tests of every choice of ``size`` values as the second sample. With one common law all are equally likely."""
    rows = range(len(values))
    return [
        compared([values[row] for row in chosen], [values[row] for row in rows if row not in chosen])
        for chosen in itertools.combinations(rows, size)
    ]


# The statistic


def test_a_small_example() -> None:
    """None of 1, 2, 3 is larger than one of 4 to 7, so U = 0 of 12, and sigma^2 = 12 * 8 / 12."""
    test = compared([1, 2, 3], [4, 5, 6, 7])
    assert (test.wins, test.share, test.deviation) == (0.0, 0.0, np.sqrt(8.0))
    assert test.z == pytest.approx(-2.1213203, abs=5e-8)


@given(high=COARSE, low=COARSE)
def test_wins_are_counted_by_pairs_and_ties_count_half(high: list[int], low: list[int]) -> None:
    assert compared(high, low).wins == wins(high, low)


@given(high=COARSE, low=COARSE)
def test_the_test_matches_scipy(high: list[int], low: list[int]) -> None:
    test = compared(high, low)
    if test.deviation == 0.0:
        assert (test.z, test.share) == (0.0, 0.5)
        return
    less = mannwhitneyu(high, low, alternative="less", method="asymptotic", use_continuity=False)
    greater = mannwhitneyu(high, low, alternative="greater", method="asymptotic", use_continuity=False)
    assert test.wins == less.statistic
    assert test.p_smaller == pytest.approx(float(less.pvalue), rel=1e-9)
    assert test.p_larger == pytest.approx(float(greater.pvalue), rel=1e-9)
    assert test.z == pytest.approx(norm.ppf(test.p_smaller), abs=1e-6)


@given(high=COARSE, low=COARSE)
def test_swapped_samples_give_the_opposite(high: list[int], low: list[int]) -> None:
    one, other = compared(high, low), compared(low, high)
    assert one.wins + other.wins == len(high) * len(low)
    assert one.z == pytest.approx(-other.z, abs=1e-12)


@pytest.mark.parametrize(
    ("high", "low", "slug"),
    [([], [1.0], "too-few-images"), ([1.0], [], "too-few-images"), ([np.nan], [1.0], "degenerate-distances")],
)
def test_invalid_samples_are_refused(high: list[float], low: list[float], slug: str) -> None:
    with pytest.raises(Invalid) as refused:
        compared(high, low)
    assert refused.value.slug == slug


# Theorem 1: U / (n m) is close to Delta


@given(high=COARSE, low=COARSE, replacement=st.integers(-1, 5), data=st.data())
def test_one_image_moves_the_share_by_at_most_its_weight(
    high: list[int], low: list[int], replacement: int, data: st.DataObject
) -> None:
    """The proof of the theorem bounds the difference by 1 / m for a generated and 1 / n for a held-out image."""
    share = compared(high, low).share
    for sample, other in ((high, 0), (low, 1)):
        changed = list(sample)
        changed[data.draw(st.integers(0, len(sample) - 1))] = replacement
        pair = (changed, low) if other == 0 else (high, changed)
        assert abs(compared(*pair).share - share) <= 1.0 / len(sample) + 1e-12


# Theorem 2: without copying Delta is 1/2


@given(values=DISTINCT, data=st.data())
@settings(max_examples=examples(25), deadline=None)
def test_one_law_without_atoms_wins_half_of_its_comparisons(values: list[int], data: st.DataObject) -> None:
    """Over all splits of distinct values, the mean of U is exactly n m / 2, and its variance sigma^2."""
    size = data.draw(st.integers(1, len(values) - 1))
    tests = splits(values, size)
    assert np.mean([test.wins for test in tests]) == pytest.approx(size * (len(values) - size) / 2, rel=1e-12)
    assert np.std([test.wins for test in tests]) == pytest.approx(tests[0].deviation, rel=1e-12)
    textbook = np.sqrt(size * (len(values) - size) * (len(values) + 1) / 12)
    assert tests[0].deviation == pytest.approx(textbook, rel=1e-12)


@given(values=st.lists(st.integers(0, 2), min_size=2, max_size=8), data=st.data())
@settings(max_examples=examples(25), deadline=None)
def test_ties_keep_the_mean_of_one_half_and_narrow_the_spread(values: list[int], data: st.DataObject) -> None:
    """With atoms, Pr(q > p) alone is below 1/2. Counting ties half corrects that, and sigma^2 stays exact."""
    size = data.draw(st.integers(1, len(values) - 1))
    tests = splits(values, size)
    assert np.mean([test.share for test in tests]) == pytest.approx(0.5, rel=1e-12)
    assert np.std([test.wins for test in tests]) == pytest.approx(tests[0].deviation, rel=1e-9, abs=1e-9)


def test_z_is_standard_normal_if_both_samples_have_one_law() -> None:
    random = np.random.default_rng(3)
    scores = [mann_whitney(random.exponential(size=40), random.exponential(size=25)).z for _ in range(2000)]
    assert abs(np.mean(scores)) < 3.0 / np.sqrt(2000)
    assert np.std(scores) == pytest.approx(1.0, abs=0.05)
    assert np.mean(np.array(scores) < norm.ppf(0.05)) == pytest.approx(0.05, abs=0.015)
