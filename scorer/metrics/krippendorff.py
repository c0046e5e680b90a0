"""Agreement of raters: Krippendorff's alpha for values on an interval scale. Pure."""

import numpy as np
from numpy.typing import ArrayLike


def interval_alpha(counts: ArrayLike, sums: ArrayLike, squares: ArrayLike) -> float | None:
    """Krippendorff's alpha with the interval difference (v - w)^2, from what each thing was given: how many values
    (n,), their sum (n,), the sum of their squares (n,).

    ``alpha = 1 - D_o / D_e`` (Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability"), where with m_u values
    of thing u and n of all things that have two or more

        D_o = 1/n sum_u 1/(m_u - 1) sum_{i != j in u} (v_i - v_j)^2,   D_e = 1/(n (n - 1)) sum_{i != j} (v_i - v_j)^2,

    and ``sum_{i != j} (v_i - v_j)^2 = 2 (m sum v^2 - (sum v)^2)``. 1: all agree; 0: as by chance. None where nothing
    has two values, or all values are equal.
    """
    m, total, square = (np.asarray(each, np.float64) for each in (counts, sums, squares))
    paired = m >= 2
    m, total, square = m[paired], total[paired], square[paired]
    n = m.sum()
    if n == 0:
        return None
    observed = (2 * (m * square - total**2) / (m - 1)).sum() / n
    expected = 2 * (n * square.sum() - total.sum() ** 2) / (n * (n - 1))
    return None if expected <= 0 else float(1 - observed / expected)
