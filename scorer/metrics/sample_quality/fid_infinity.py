"""FID-infinity: the Fréchet distance extrapolated to infinitely many generated images.

    FID_N = FID_inf + slope / N + ...                                      (Chong and Forsyth 2020, section 4)

FID is too high by about slope / N, and the slope is each generator's own, so that it can change an order. FID is
measured on 15 random parts of 5,000 to n images, and a line in 1 / N is extrapolated to 0. That corrects for the number
of generated images, not of reference images. Shown, never ranked by.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from scorer.errors import Invalid
from scorer.metrics.cosine import Indices
from scorer.metrics.features import Features, Vector, require_matrix, require_same_dimension
from scorer.metrics.sample_quality.frechet import Statistics, frechet_distance, statistics_of, with_factor

SIZES = 15
MIN_SIZE = 5000


@dataclass(frozen=True, eq=False)
class FidInfinity:
    """The line through the distances of parts of ``sizes`` images, ``distances`` (sizes,) float64."""

    value: float
    """FID-infinity; it may be below 0 for an entry as good as perfect."""
    standard_error: float
    """Standard error of the intercept by the residuals: over the draw of the parts alone, taken as independent. The
    sampling of the entry itself is covered by the standard error of FID."""
    slope: float
    sizes: tuple[int, ...]
    distances: Vector


def fid_infinity(
    features: Features,
    reference: Statistics,
    *,
    random: np.random.Generator,
    sizes: int = SIZES,
    min_size: int = MIN_SIZE,
    progress: Callable[[float], None] | None = None,
) -> FidInfinity | None:
    """Extrapolate the distance of features (n, d), float32 or float64, to n = infinity; None for n <= ``min_size``.

    The last part is all of the images. ``progress`` is called with the finished share, rising to 1.0. Raises
    :class:`Invalid` as :func:`frechet_distance` does, ``bad-count`` for fewer than three sizes.
    """
    if sizes < 3 or min_size < 2:
        raise Invalid("bad-count", f"A line needs 3 sizes of 2 images or more, not {sizes} of {min_size}.")
    require_matrix(features, "generated", min_rows=2)
    require_same_dimension(features.shape[1], len(reference.mean))
    if len(features) <= min_size:
        return None
    reference = with_factor(reference)
    counts = np.linspace(min_size, len(features), sizes).astype(np.int64)
    distances = np.empty(sizes)
    for number, count in enumerate(counts):
        part = features[np.sort(random.choice(len(features), count, replace=False))]
        distances[number] = frechet_distance(statistics_of(part), reference)
        if progress:
            progress((number + 1) / sizes)
    return line_through(counts, distances)


def line_through(counts: Indices, distances: Vector) -> FidInfinity:
    """The least-squares line of distances (k,) in 1 / counts (k,), k >= 3, at 0."""
    inverse = 1.0 / np.asarray(counts, np.float64)
    centred = inverse - inverse.mean()
    slope = float(centred @ distances / (centred @ centred))
    value = float(distances.mean() - slope * inverse.mean())
    residuals = distances - value - slope * inverse
    variance = float(residuals @ residuals) / (len(distances) - 2)
    error = np.sqrt(variance * (1.0 / len(distances) + inverse.mean() ** 2 / (centred @ centred)))
    return FidInfinity(value, float(error), slope, tuple(int(count) for count in counts), distances)
