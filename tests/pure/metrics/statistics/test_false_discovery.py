"""q-values of counts against scipy's of the p-values themselves, and the rate that they promise."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import false_discovery_control

from scorer.metrics.statistics.false_discovery import BINS, BINS_PER_DECADE, bins_of, q_values, upper_edges
from tests.examples import examples

P_VALUES = st.one_of(st.floats(0.0, 1.0), st.floats(-20.0, 0.0).map(lambda power: 10.0**power))


def by_counts(p_values: NDArray[np.float64]) -> NDArray[np.float64]:
    bins = bins_of(p_values)
    return q_values(np.bincount(bins, minlength=BINS))[bins]


@given(p_values=st.lists(P_VALUES, min_size=1, max_size=60).map(np.array))
@settings(max_examples=examples(200), deadline=None)
def test_they_are_never_too_small_and_too_large_by_one_bin(p_values: NDArray[np.float64]) -> None:
    found, exact = by_counts(p_values), false_discovery_control(p_values, method="bh")
    assert (found >= exact * (1 - 1e-9)).all()
    seen = p_values > 1e-12
    step = 10.0 ** (1 / BINS_PER_DECADE)
    assert (found <= np.minimum(1.0, exact * step) * (1 + 1e-9))[seen].all()
    assert (found <= np.minimum(1.0, len(p_values) * 1e-12))[~seen].all()


@given(bins=st.lists(st.integers(0, BINS - 1), min_size=1, max_size=60).map(np.array))
@settings(max_examples=examples(100), deadline=None)
def test_at_the_edges_they_are_exact(bins: NDArray[np.int64]) -> None:
    p_values = upper_edges()[bins]
    np.testing.assert_array_equal(bins_of(p_values), bins)
    np.testing.assert_allclose(by_counts(p_values), false_discovery_control(p_values, method="bh"), rtol=1e-12)


@pytest.mark.parametrize("level", [0.05, 0.2])
def test_false_discoveries_are_as_rare_as_promised(level: float) -> None:
    """Of 900 true and 100 false hypotheses, the false ones found often."""
    rates, power = [], []
    for seed in range(300):
        random = np.random.default_rng(seed)
        p_values = np.concatenate([random.random(900), random.random(100) ** 12])
        found = by_counts(p_values) <= level
        rates.append(found[:900].sum() / max(1, found.sum()))
        power.append(found[900:].mean())
    assert np.mean(rates) <= 0.9 * level + 2 * np.std(rates) / np.sqrt(300)
    assert np.mean(power) > 0.4


def test_nothing_counted_means_nothing_sure() -> None:
    np.testing.assert_array_equal(q_values(np.zeros(BINS, np.int64)), np.ones(BINS))
