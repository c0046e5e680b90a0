"""Synthetic features from a seed, with a spectrum like that of a network's pooled features."""

import numpy as np
from numpy.typing import NDArray
from scipy.fft import dct

SEED = 2019
_ROWS = 1000


def features(count: int, dimension: int, stream: int) -> NDArray[np.float32]:
    """Non-negative features (count, dimension) float32, different for each ``stream``.

    Deviations of normal codes fall like a power of their rank, as in the principal components of pooled features. An
    orthogonal transform spreads the codes over all dimensions; their absolute value rectifies them.
    """
    rng = np.random.default_rng([SEED, stream])
    deviations = np.arange(1, dimension + 1, dtype=np.float32) ** np.float32(-0.7)
    rows = np.empty((count, dimension), np.float32)
    for start in range(0, count, _ROWS):
        block = rows[start : start + _ROWS]
        codes = rng.standard_normal(block.shape, np.float32) * deviations
        np.abs(np.float32(0.05) + dct(codes, norm="ortho", axis=1), out=block)
    return rows
