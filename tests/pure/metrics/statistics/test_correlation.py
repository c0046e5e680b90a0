"""Correlation of two measurements, compared with scipy and small tables."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from scorer.errors import Invalid
from scorer.metrics.statistics.correlation import (
    leaders_in_common,
    mean_rank_difference,
    pearson,
    quantiles,
    ranks,
    spearman,
)

few = st.integers(-20, 20).map(float)
pairs = st.lists(st.tuples(few, few), min_size=3, max_size=40).map(lambda rows: np.array(rows).T)


@given(pairs)
def test_correlations_match_scipy(given_pairs: np.ndarray) -> None:
    x, y = given_pairs
    assume(np.ptp(x) > 0 and np.ptp(y) > 0)
    assert pearson(x, y) == pytest.approx(stats.pearsonr(x, y)[0], abs=1e-12)
    assert spearman(x, y) == pytest.approx(stats.spearmanr(x, y)[0], abs=1e-12)


@given(pairs)
def test_rank_differences_match_the_definition(given_pairs: np.ndarray) -> None:
    x, y = given_pairs

    def rank(values: np.ndarray, value: float) -> float:
        below, equal = sum(values < value), sum(values == value)
        return float(below + (equal + 1) / 2)

    off = [abs(rank(x, a) - rank(y, b)) for a, b in zip(x, y, strict=True)]
    assert mean_rank_difference(x, y) == pytest.approx(np.mean(off))
    assert mean_rank_difference(x, 3 * x + 1) == 0.0
    assert ranks(x).sum() == pytest.approx(len(x) * (len(x) + 1) / 2)


def test_undefined_correlations_are_none() -> None:
    assert (pearson([], []), pearson([1], [2]), spearman([1, 1], [1, 2])) == (None, None, None)
    assert mean_rank_difference([], []) is None


def test_invalid_measurements_are_refused() -> None:
    for first, second in (([1, 2], [1]), ([1, np.nan], [1, 2]), ([[1]], [[1]])):
        with pytest.raises(Invalid, match=r"compared|on the other"):
            pearson(first, second)


def test_leaders() -> None:
    assert leaders_in_common([1, 2, 3, 4], [4, 3, 2, 1], 2) == 0
    assert leaders_in_common([1, 2, 3, 4], [2, 9, 1, 8], 2) == 1
    assert leaders_in_common([1, 2], [2, 1], 5) == 2
    assert leaders_in_common([1, 1, 1], [1, 1, 1], 2) == 2, "of equal values, the earlier leads on both sides"


@given(st.lists(few, min_size=1, max_size=30))
def test_quantiles_match_numpy(values: list[float]) -> None:
    summary = quantiles(np.array(values))
    assert summary["median"] == np.median(values)
    assert (summary["least"], summary["most"]) == (min(values), max(values))
    assert summary["percent_99"] == pytest.approx(np.percentile(values, 99))
