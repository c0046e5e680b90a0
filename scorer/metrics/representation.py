"""Cells that get more, or fewer, generated images than held-out photographs would put there.

    Z = (Q - P) / sqrt(p (1 - p) (1/n + 1/m)),   p = (n P + m Q) / (n + m)

for the shares P of n held-out and Q of m generated images in a cell. NDB-over and NDB-under are the numbers of cells
with Z above, and below minus, the 95 % point of a standard normal (Meehan et al. 2020, section 3.2; two-sided against
the training images it is the NDB of Richardson and Weiss 2018). Where nothing is wrong, 5 % of the cells are in either.
"""

import numpy as np
from scipy.stats import norm

from scorer.errors import Invalid
from scorer.metrics.cosine import Indices
from scorer.metrics.features import Vector

LEVEL = 0.05


def excess_of(generated: Indices, held_out: Indices) -> Vector:
    """Z of each cell, (k,), from the numbers of images in it; 0 for a cell that holds all images, or none.

    Raises :class:`Invalid` (``too-few-images``) where either kind has no image at all.
    """
    m, n = int(generated.sum()), int(held_out.sum())
    if not m or not n:
        raise Invalid("too-few-images", "Without images there are no shares to compare.")
    pooled = (generated + held_out) / (m + n)
    variance = pooled * (1.0 - pooled) * (1.0 / n + 1.0 / m)
    decided = variance > 0.0
    difference = generated / m - held_out / n
    return np.where(decided, difference / np.sqrt(np.where(decided, variance, 1.0)), 0.0)


def ndb_of(excess: Vector, level: float = LEVEL) -> tuple[int, int]:
    """(NDB-over, NDB-under): how many cells hold too many generated images, and too few."""
    limit = float(norm.isf(level))
    return int((excess > limit).sum()), int((excess < -limit).sum())
