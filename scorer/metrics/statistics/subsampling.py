"""Equally large random samples of several sets, for tests that assume one sample size."""

from collections.abc import Mapping

import numpy as np

from scorer.metrics.cosine import Indices
from scorer.metrics.features import Features, require_finite, require_matrix, require_same_dimension


def equal_subsamples(
    sets: Mapping[str, Features], random: np.random.Generator, max_images: int | None = None, min_images: int = 1
) -> list[Features]:
    """The sets, (n, d), (m, d) and so on, each reduced to the size of the smallest set and to ``max_images``.

    Takes the rows of :func:`equal_draws`; a set of the right size stays whole.
    """
    draws = equal_draws(sets, random, max_images, min_images)
    return [
        features if len(rows) == len(features) else features[rows]
        for features, rows in zip(sets.values(), draws, strict=True)
    ]


def equal_draws(
    sets: Mapping[str, Features], random: np.random.Generator, max_images: int | None = None, min_images: int = 1
) -> list[Indices]:
    """Ascending row indices of each set: as many as the smallest set has, and at most ``max_images``.

    ``random`` draws without replacement; a set of the right size keeps all rows. Keys name the sets in messages. Raises
    :class:`Invalid`: ``bad-features``, ``too-few-images`` for fewer than ``min_images``, ``degenerate-features``,
    ``dimension-mismatch``.
    """
    dimensions = []
    for name, features in sets.items():
        require_matrix(features, name, min_rows=min_images)
        require_finite(features, name)
        dimensions.append(features.shape[1])
        require_same_dimension(dimensions[0], dimensions[-1])
    count = min(len(features) for features in sets.values())
    count = count if max_images is None else min(count, max_images)
    return [_drawn(len(features), count, random) for features in sets.values()]


def _drawn(size: int, count: int, random: np.random.Generator) -> Indices:
    return np.arange(size) if size == count else np.sort(random.choice(size, count, replace=False))
