"""95 % intervals of shares and of AUC."""

from math import sqrt

from scipy.optimize import brentq
from scipy.stats import norm

_Z = float(norm.isf(0.025))
_NEXT_TO = 1e-12


def wilson_interval(count: int, total: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a share; (0, 1) of nothing."""
    if not total:
        return 0.0, 1.0
    width = _Z**2
    middle, half = (
        (count + width / 2) / (total + width),
        (width * count * (total - count) / total + width**2 / 4) ** 0.5,
    )
    return max(0.0, middle - half / (total + width)), min(1.0, middle + half / (total + width))


def share_with_interval(count: int, total: int) -> str:
    """A count of a total with Wilson's interval, as text."""
    low, high = wilson_interval(count, total)
    return f"{count}/{total} ({low:.0%} to {high:.0%})"


def auc_interval(auc: float, positives: int, negatives: int) -> tuple[float, float]:
    """The 95 % interval of an AUC between so many entries of two kinds: method 5 of Newcombe 2006, which like Wilson's
    takes the standard error at the limit and not at the estimate, so that it is not empty at 0 and 1."""
    return _lower_limit(auc, positives, negatives), 1.0 - _lower_limit(1.0 - auc, negatives, positives)


def _lower_limit(auc: float, positives: int, negatives: int) -> float:
    if auc <= _NEXT_TO:
        return 0.0
    others = (positives + negatives) / 2 - 1

    def beyond(limit: float) -> float:
        clusters = 1 + others * ((1 - limit) / (2 - limit) + limit / (1 + limit))
        error = sqrt(limit * (1 - limit) * clusters / (positives * negatives))
        return auc - limit - _Z * error

    return float(brentq(beyond, 0.0, auc - _NEXT_TO))
