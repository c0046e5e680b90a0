"""Authenticity (Alaa et al. 2022): which generated images are no noisy versions of a training image.

Image g with the nearest training image t is authentic if t has another training image nearer to it than g is
(section 3):

    |t - nearest other training image| < |g - t|

A copy lies nearer to its original than any other training image does. Honest images are not all authentic, and neither
are held-out images, so the share is compared with that of held-out images where a track has them.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from scorer.metrics.copying.ndb import excess_of
from scorer.metrics.cosine import Indices
from scorer.metrics.euclidean import Neighbours, neighbours
from scorer.metrics.features import Features, require_matrix
from scorer.metrics.sample_quality.prdc import Manifold, manifold_of


@dataclass(frozen=True, eq=False)
class Authenticity:
    """For every image whether it is authentic, (n,) bool, and the nearest training image, (n,) int64."""

    authentic: NDArray[np.bool_]
    index: Indices

    @property
    def share(self) -> float:
        """The share in [0, 1] of authentic images."""
        return float(self.authentic.mean())

    @property
    def standard_error(self) -> float:
        """Standard error of ``share`` over the choice of images, the training images being given: binomial."""
        return float(np.sqrt(self.share * (1.0 - self.share) / len(self.authentic)))


def authenticity(
    features: Features,
    training: Features | Manifold,
    *,
    progress: Callable[[float], None] | None = None,
) -> Authenticity:
    """Compare features (n, d), float32 or float64, with training features (m, d), or their stored manifold.

    ``progress`` is called with the finished share, rising to 1.0. Raises :class:`Invalid` as :func:`neighbours` does.
    """
    require_matrix(features, "generated")
    rest = 1.0
    if not isinstance(training, Manifold):
        require_matrix(training, "reference", min_rows=2)
        rest = len(features) / (len(features) + len(training))
        training = manifold_of(training, 1, progress=(lambda share: progress(share * (1 - rest))) if progress else None)
    nearest = neighbours(
        features,
        training.features,
        progress=(lambda share: progress(1.0 - rest * (1.0 - share))) if progress else None,
    )
    return authenticity_from(nearest, training)


def authenticity_from(nearest: Neighbours, training: Manifold) -> Authenticity:
    """The same where the nearest training images, (n, k) for any k, are known."""
    index = nearest.index[:, 0]
    return Authenticity(training.limits(1)[index] < nearest.squares[:, 0], index)


def p_fewer(generated: Authenticity, held_out: Authenticity) -> float:
    """One-sided p-value for generated images being authentic less often than held-out images are.

    By the normal test of two shares; both must have been compared with the same training images.
    """
    counts = [
        np.array([int(kind.authentic.sum()), int((~kind.authentic).sum())], np.int64) for kind in (generated, held_out)
    ]
    return float(scipy.stats.norm.cdf(excess_of(*counts)[0]))
