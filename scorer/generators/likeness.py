"""Whether held-out images are of the training images' kind, told without the generator.

Latent recovery compares training with held-out errors, and takes both for draws from one law. Smooth images are
easier to recover than rough ones, whoever trained on them: where the held-out images are smoother or rougher, errors
differ without any copying.
"""

import numpy as np
from numpy.typing import NDArray

from scorer.metrics.features import Vector


def roughness(images: NDArray[np.uint8]) -> Vector:
    """Mean squared step between neighbouring pixels, (n,) float64, of images (n, s, s, 3) in [-1, 1]."""
    values = images.astype(np.float32) / np.float32(127.5)
    across, down = np.diff(values, axis=2), np.diff(values, axis=1)
    return np.asarray((across**2).mean(axis=(1, 2, 3)) + (down**2).mean(axis=(1, 2, 3)), np.float64)
