"""Authenticity (Alaa et al. 2022): which generated images are not noisy versions of a training image.

Image g with the nearest training image t is authentic if another training image is nearer to t than g is (section 3):

    |t - nearest other training image| < |g - t|

A copy is nearer to its original than any other training image. Not all honest or held-out images are authentic, so the
share is compared with that of held-out images if a track has them.
"""

from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from scorer.metrics.copying.ndb import excess_of
from scorer.metrics.euclidean import Neighbours
from scorer.metrics.sample_quality.prdc import Manifold


@dataclass(frozen=True, eq=False)
class Authenticity:
    """Whether each image is authentic, (n,) bool."""

    authentic: NDArray[np.bool_]

    @property
    def share(self) -> float:
        """The share in [0, 1] of authentic images."""
        return float(self.authentic.mean())

    @property
    def standard_error(self) -> float:
        """Standard error of ``share`` over the choice of images, for the same training images: binomial."""
        return float(np.sqrt(self.share * (1.0 - self.share) / len(self.authentic)))


def authenticity_from(nearest: Neighbours, training: Manifold) -> Authenticity:
    """The authenticity of images with these nearest images of ``training``, (n, k) for any k."""
    return Authenticity(training.limits(1)[nearest.index[:, 0]] < nearest.squares[:, 0])


def p_fewer(generated: Authenticity, held_out: Authenticity) -> float:
    """One-sided p-value for generated images being authentic less often than held-out images.

    From the normal test of two shares. Both must be compared with the same training images.
    """
    counts = [
        np.array([int(kind.authentic.sum()), int((~kind.authentic).sum())], np.int64) for kind in (generated, held_out)
    ]
    return float(scipy.stats.norm.cdf(excess_of(*counts)[0]))
