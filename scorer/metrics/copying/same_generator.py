"""Whether two generators are nearly the same, from their images at the same latents."""

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from scorer.metrics.copying.thumbnails import standardise_thumbnails, thumbnails_of

NEAR = 0.3
"""An image is nearly the other generator's at the same latent if their distance is below this part of the median
distance to its images at the other latents."""
MIN_SHARE = 0.5
"""The share of latents at which nearly the same generators have nearly the same image."""


def are_nearly_same(first: NDArray[np.uint8], second: NDArray[np.uint8]) -> bool:
    """Whether two generators are nearly the same, from their images (n, s, s, 3) at the same n latents."""
    return nearly_same_share(first, second) >= MIN_SHARE


def nearly_same_share(first: NDArray[np.uint8], second: NDArray[np.uint8]) -> float:
    """The share of n latents at which the images (n, s, s, 3) of two generators are nearly the same, upright or
    mirrored, whatever their brightness and contrast. The distance is that of thumbnails."""
    left = standardise_thumbnails(thumbnails_of(first))
    turned = (standardise_thumbnails(thumbnails_of(second, mirrored=mirrored)) for mirrored in (False, True))
    distances = np.minimum(*(cdist(left, right) for right in turned))
    own = np.diagonal(distances)
    others = np.median(distances[~np.eye(len(own), dtype=bool)].reshape(len(own), -1), axis=1)
    return float((own < NEAR * others).mean())
