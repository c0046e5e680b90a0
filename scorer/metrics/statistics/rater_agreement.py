"""Agreement of raters: Cohen's kappa for labels, Krippendorff's alpha for ratings."""

import math
from collections import Counter
from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import ArrayLike


def cohens_kappa(first: Sequence[Hashable], second: Sequence[Hashable]) -> float:
    """Cohen's kappa of two raters' labels of the same n things (Cohen 1960): ``(p_o - p_e) / (1 - p_e)``.

    ``p_o`` is the share of labels that agree. ``p_e = sum over labels of p_1(label) * p_2(label)`` is the share
    expected of raters who use each label as often, but at random. 1 is full agreement, 0 is no better than chance,
    negative is worse. nan if nothing was rated, or if both gave the same single label to everything: then agreement
    says nothing.
    ``ValueError`` if one rated more than the other.
    """
    if len(first) != len(second):
        raise ValueError(f"one rater has {len(first)} labels and the other {len(second)}")
    count = len(first)
    first_counts, second_counts = Counter(first), Counter(second)
    # Integers keep the comparison with full agreement exact.
    agreed = sum(one == other for one, other in zip(first, second, strict=True)) * count
    by_chance = sum(first_counts[label] * second_counts[label] for label in first_counts)
    if by_chance == count * count:
        return math.nan
    return (agreed - by_chance) / (count * count - by_chance)


def interval_alpha(counts: ArrayLike, sums: ArrayLike, squares: ArrayLike) -> float | None:
    """Krippendorff's alpha with the interval difference (v - w)^2, from the number of values of each thing (n,), their
    sum (n,) and the sum of their squares (n,).

    ``alpha = 1 - D_o / D_e`` (Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability"), with m_u values of
    thing u and n values of all things that have two or more:

        D_o = 1/n sum_u 1/(m_u - 1) sum_{i != j in u} (v_i - v_j)^2,   D_e = 1/(n (n - 1)) sum_{i != j} (v_i - v_j)^2,

    and ``sum_{i != j} (v_i - v_j)^2 = 2 (m sum v^2 - (sum v)^2)``. 1 is full agreement, 0 is chance. None if nothing
    has two values, or if all values are equal.
    """
    m, total, square = (np.asarray(values, np.float64) for values in (counts, sums, squares))
    paired = m >= 2
    m, total, square = m[paired], total[paired], square[paired]
    n = m.sum()
    if n == 0:
        return None
    observed = (2 * (m * square - total**2) / (m - 1)).sum() / n
    expected = 2 * (n * square.sum() - total.sum() ** 2) / (n * (n - 1))
    return None if expected <= 0 else float(1 - observed / expected)
