"""The false discovery rate (Benjamini and Hochberg 1995) of many tests, from counts of their p-values by bins.

    q(p) = min over t >= p of  m t / #{p_i <= t},     m tests with the p-values p_i

Whoever calls those tests significant whose q-value is at most q is wrong in a share of at most q of them, on average:
for independent tests, and for tests of which each one's chance of being small does not fall with the others'. q is the
p-value that Benjamini and Hochberg adjust. Of counts by bins only the bins' upper edges can be t, so that the q-value
is exact at the edges and elsewhere too large, by at most the ratio of two edges (1.33), never too small. A count by
bins is kept up to date at a cost that does not grow with the number of tests.
"""

import numpy as np

from scorer.metrics.cosine import Indices
from scorer.metrics.features import Vector

DECADES, BINS_PER_DECADE = 12, 8
BINS = DECADES * BINS_PER_DECADE + 1
"""Bin 0 has the p-values of at most 1e-12; bin k those above 10^((k - 1) / 8 - 12) and of at most 10^(k / 8 - 12)."""


def upper_edges() -> Vector:
    """The largest p-value of each bin, (BINS,), ascending to 1."""
    return np.asarray(10.0 ** (np.arange(BINS) / BINS_PER_DECADE - DECADES))


def bins_of(p_values: Vector) -> Indices:
    """The bin of each p-value in [0, 1], (n,)."""
    steps = np.ceil(BINS_PER_DECADE * (DECADES + np.log10(np.maximum(p_values, 10.0**-DECADES))))
    return np.asarray(steps.clip(0, BINS - 1), np.int64)


def q_values(counts: Indices) -> Vector:
    """The q-value of the tests in each bin, (BINS,), in [0, 1], of how many tests each bin has, (BINS,)."""
    below = np.cumsum(counts)
    total = below[-1]
    rates = np.divide(total * upper_edges(), below, out=np.ones(BINS), where=below > 0)
    return np.asarray(np.minimum.accumulate(np.minimum(rates, 1.0)[::-1])[::-1])


def q_value_of(p_value: float, by_bin: Vector) -> float:
    """The q-value of one p-value in [0, 1], by those of the bins (BINS,)."""
    return float(by_bin[bins_of(np.array([p_value]))[0]])
