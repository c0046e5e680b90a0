"""The false discovery rate: scipy's adjusted p-values, and what it promises."""

import numpy as np
import pytest
from scipy.stats import false_discovery_control

from scorer.metrics.statistics.false_discovery import false_discovery_rate


def test_it_is_scipys_before_the_running_minimum() -> None:
    p_values = np.sort(np.random.default_rng(0).uniform(size=200) ** 3)
    rates = [false_discovery_rate(p, at_most=rank, tests=200) for rank, p in enumerate(p_values, 1)]
    np.testing.assert_allclose(np.minimum.accumulate(rates[::-1])[::-1], false_discovery_control(p_values, method="by"))


def test_of_chance_alone_hardly_anything_is_left() -> None:
    """Simulated: the share of competitions in which any of 160 tests has a rate below 5 %, though none is true."""
    random = np.random.default_rng(1)
    found = 0
    for _ in range(400):
        p_values = np.sort(random.uniform(size=160))
        rates = [false_discovery_rate(p, at_most=rank, tests=160) for rank, p in enumerate(p_values, 1)]
        found += min(rates) <= 0.05
    assert found / 400 <= 0.05


def test_bounds() -> None:
    assert false_discovery_rate(0.5, at_most=1, tests=100) == 1.0
    assert false_discovery_rate(0.0, at_most=1, tests=1) == 0.0
    for at_most in (0, 3):
        with pytest.raises(ValueError, match="smallest"):
            false_discovery_rate(0.5, at_most=at_most, tests=2)
