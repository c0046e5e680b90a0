"""Histograms of recovery errors on one logarithmic axis (Webster et al. 2019, figure 4)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from scorer.metrics.copying.latent_recovery import VERBATIM

MIN_ERROR = 1e-4
"""Smaller errors count as this one: the difference between such images is invisible."""
BINS_PER_DECADE = 6


@dataclass(frozen=True)
class ErrorHistogram:
    """Numbers of targets by kind in bins with these edges, (bins + 1,), ascending; the first bin holds all smaller
    errors, too."""

    edges: Sequence[float]
    counts: Mapping[str, Sequence[int]]


def error_histogram(errors: Mapping[str, Sequence[float]]) -> ErrorHistogram:
    """The histogram of errors >= 0 by kind of target, each kind with at least one."""
    largest = max(VERBATIM, *(max(values) for values in errors.values()))
    decades = np.log10(largest / MIN_ERROR)
    bins = int(np.floor(decades * BINS_PER_DECADE)) + 1  # the largest error is below the last edge
    edges = MIN_ERROR * 10.0 ** (np.arange(bins + 1) / BINS_PER_DECADE)
    counts = {
        kind: np.histogram(np.clip(values, MIN_ERROR, None), edges)[0].tolist() for kind, values in errors.items()
    }
    return ErrorHistogram(edges.tolist(), counts)
