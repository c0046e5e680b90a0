"""False discovery rate among many tests, whatever their dependence (Benjamini and Yekutieli 2001).

Among m tests, of which r have a p-value of at most p, at most the share

    q = m p (1 + 1/2 + ... + 1/m) / r

of these r is expected to be false. The tests of one entry look at the same images, so nothing may be assumed of how
they depend on one another: hence the harmonic sum, without which it is the rate for independent tests.
"""

from scipy.special import digamma

_EULER = 0.5772156649015329


def false_discovery_rate(p_value: float, *, at_most: int, tests: int) -> float:
    """The expected share of false ones among the ``at_most`` of so many ``tests`` whose p-value is ``p_value`` or less,
    at most 1. ``ValueError`` unless 1 <= at_most <= tests."""
    if not 1 <= at_most <= tests:
        raise ValueError(f"{at_most} of {tests} tests can't be the smallest ones")
    harmonic = float(digamma(tests + 1)) + _EULER
    return min(1.0, p_value * tests * harmonic / at_most)
