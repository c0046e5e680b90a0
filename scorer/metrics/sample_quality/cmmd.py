"""CMMD: the squared maximum mean discrepancy with a Gaussian kernel between CLIP features of two sets.

    CMMD = 1000 (mean k(x_i, x_j) + mean k(y_i, y_j) - 2 mean k(x_i, y_j)),   i = j included
    k(x, y) = exp(-|x - y|^2 / (2 sigma^2)),   sigma = 10                (Jayasumana et al. 2024, section 4)

This is the estimator of the authors' code (google-research/cmmd), which includes each row with itself. It is biased by
about 1000 (1 - mean k) (1 / n + 1 / m) and never negative. The features are CLIP's image embeddings, of unit length.
For them the kernel is nearly linear, so CMMD is little more than the squared distance of the means.
"""

import numpy as np

from scorer.metrics.features import Estimate, Features, require_finite, require_matrix, require_same_dimension
from scorer.metrics.sample_quality.kernel_sums import gaussian_kernel, sums_across, sums_within
from scorer.progress import ProgressCallback

SIGMA = 10.0
SCALE = 1000.0


def cmmd(generated: Features, reference: Features, *, progress: ProgressCallback | None = None) -> Estimate:
    """CMMD of CLIP features (n, d) and (m, d), float32 or float64, n and m >= 2.

    The standard error is that of the linear part, as in :func:`scorer.metrics.sample_quality.kid.squared_mmd`. Never
    holds n x m numbers. ``progress`` is called with the finished share, rising to 1.0. Raises :class:`Invalid`:
    ``too-few-images``, ``bad-features``, ``degenerate-features``, ``dimension-mismatch``.
    """
    for features, name in ((generated, "generated"), (reference, "reference")):
        require_matrix(features, name, min_rows=2)
        require_finite(features, name)
    require_same_dimension(generated.shape[1], reference.shape[1])
    kernel = gaussian_kernel(SIGMA)
    report = progress or (lambda _share: None)
    n, m = len(generated), len(reference)
    own = (1.0 + sums_within(generated, kernel, lambda share: report(share / 3))) / n
    across = sums_across(generated, reference, kernel, lambda share: report((1 + share) / 3))[0] / m
    other = (1.0 + sums_within(reference, kernel, lambda share: report((2 + share) / 3))) / m
    value = own.mean() + other.mean() - 2.0 * across.mean()
    return Estimate(float(SCALE * value), float(SCALE * 2.0 * (own - across).std(ddof=1) / np.sqrt(n)))
