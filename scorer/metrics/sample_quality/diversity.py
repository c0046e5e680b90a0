"""Diversity of one set of images from the entropy of a kernel's spectrum: the Vendi score and RKE.

    Vendi = exp(-sum_k w_k log w_k),   w the eigenvalues of K / n,   K_ij = cos(x_i, x_j)
                                                                    (Friedman and Dieng 2023, definition 3.1)
    RKE   = 1 / mean_ij k(x_i, x_j)^2,   k(x, y) = exp(-|x - y|^2 / (2 sigma^2))
                                                                    (Jalali et al. 2023, section 4: exp of Renyi's
                                                                    entropy of order 2)

Both are 1 for copies of one image and n for n images with nothing in common: an effective number of images, or of
modes. Both grow with n, so compare them only between sets of the same size, and RKE only for the same sigma.
"""

import numpy as np

from scorer.metrics.cosine import normalise
from scorer.metrics.features import Estimate, Features, require_finite, require_matrix
from scorer.metrics.sample_quality.kernel_sums import gaussian_kernel, sums_within
from scorer.progress import ProgressCallback


def vendi_score(features: Features) -> Estimate:
    """The Vendi score of features (n, d), float32 or float64, n >= 2, with cosine similarities.

    The spectrum is that of the smaller of K / n and the mean of x x^T over unit rows x. An image contributes
    -x^T log(mean x x^T) x to the entropy. The spread of these contributions gives the standard error (the influence
    function of the von Neumann entropy). Raises :class:`Invalid`: ``too-few-images``, ``bad-features``,
    ``degenerate-features``.
    """
    require_matrix(features, "generated", min_rows=2)
    count = len(features)
    unit = normalise(features, "generated").unit(0, count, np.float64)
    by_images = count < features.shape[1]
    values, vectors = np.linalg.eigh((unit @ unit.T if by_images else unit.T @ unit) / count)
    positive = values > values[-1] * count * np.finfo(np.float64).eps
    values, vectors = values[positive], vectors[:, positive]
    # (x_i . v_k)^2 for an eigenvector v_k of the mean of x x^T, which equals sqrt(n w_k) times that of K.
    shares = np.square(vectors) * (count * values) if by_images else np.square(unit @ vectors)
    influence = -shares @ np.log(values)
    score = float(np.exp(influence.mean()))
    return Estimate(score, score * float(influence.std(ddof=1) / np.sqrt(count)))


def rke(features: Features, sigma: float, *, progress: ProgressCallback | None = None) -> Estimate:
    """The Renyi kernel entropy score of order 2 of features (n, d), float32 or float64, n >= 2.

    Never holds n x n numbers. The standard error is that of the linear part of the mean over pairs. ``progress`` is
    called with the finished share, rising to 1.0. Raises :class:`Invalid`: ``too-few-images``, ``bad-features``,
    ``degenerate-features``.
    """
    require_matrix(features, "generated", min_rows=2)
    require_finite(features, "generated")
    squared = gaussian_kernel(sigma / np.sqrt(2.0))  # k^2
    means = (1.0 + sums_within(features, squared, progress or (lambda _share: None))) / len(features)
    score = 1.0 / float(means.mean())
    return Estimate(score, score**2 * 2.0 * float(means.std(ddof=1) / np.sqrt(len(means))))
