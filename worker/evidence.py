"""Evidence beside the score, from the features that it was made of: shown, never ranked by (METRICS A7)."""

from typing import Any

import numpy as np

from scorer.extractors import Features, Progress
from scorer.metrics.frechet_error import frechet_standard_error
from scorer.metrics.kernel import kernel_distance
from scorer.metrics.manifold import overlap
from worker.measuring import Reference

SUBSET = 1000
"""Images of a KID subset, as the field has it; fewer where there are fewer."""


def evidence_of(
    features: Features, reference: Reference, *, random: np.random.Generator, progress: Progress
) -> dict[str, Any]:
    """What else features (n, d) float32 tell against a reference (m, d), as ``kennel score --evidence`` prints it.

    ``fid_se``: the standard error of the Fréchet distance over the choice of images, null where n <= d. ``kid``: the
    unbiased squared MMD, mean and standard deviation over 100 subsets drawn by ``random``. ``precision``, ``recall``
    (k = 3), ``density``, ``coverage`` (k = 5). Raises ``Invalid`` (``too-few-images``) for fewer than six images.
    """
    real = reference.normalised.features
    error = frechet_standard_error(features, reference.statistics, progress=lambda share: progress(0.1 * share))
    distance = kernel_distance(
        features,
        real,
        random=random,
        subset_size=min(SUBSET, len(features), len(real)),
        progress=lambda share: progress(0.1 + 0.3 * share),
    )
    common = overlap(features, real, progress=lambda share: progress(0.4 + 0.6 * share))
    return {
        "fid_se": error,
        "kid": {"mean": distance.mean, "subset_deviation": distance.subset_deviation, "subsets": distance.subsets},
        **vars(common),
    }
