"""FID-infinity: the Fréchet distance extrapolated to infinitely many generated images.

    FID_N = FID_inf + slope / N + ...                                      (Chong and Forsyth 2020, section 4)

FID is too high by about slope / N, and the slope is each generator's own, so that it can change an order. FID is
measured on 15 random parts of 5,000 to n images, and a line in 1 / N is extrapolated to 0. That corrects for the number
of generated images, not of reference images. Shown, never ranked by.

The parts share images, so the residuals of the line say little of how far it is from the truth. The standard error is a
jackknife of the intercept over the images: each lies in some parts, with weights of the line, and leaving it out moves
the distance of each such part by its influence (:mod:`scorer.metrics.sample_quality.frechet_standard_error`). That
covers the choice of the images and the draw of the parts.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from scorer.errors import Invalid
from scorer.metrics.cosine import Indices
from scorer.metrics.features import Features, Vector, require_matrix, require_same_dimension
from scorer.metrics.sample_quality.frechet import Statistics
from scorer.metrics.sample_quality.frechet_parts import PartDistances
from scorer.metrics.threads import map_parts

SIZES = 15
MIN_SIZE = 5000


@dataclass(frozen=True, eq=False)
class FidInfinity:
    """The line through the distances of parts of ``sizes`` images, ``distances`` (sizes,) float64."""

    value: float
    """FID-infinity; it may be below 0 for an entry as good as perfect."""
    standard_error: float | None
    """Over the choice of the images and of the parts; None without influences."""
    sizes: tuple[int, ...]
    distances: Vector


def fid_infinity(
    features: Features,
    reference: Statistics,
    *,
    influences: Vector | None,
    random: np.random.Generator,
    sizes: int = SIZES,
    min_size: int = MIN_SIZE,
    progress: Callable[[float], None] | None = None,
) -> FidInfinity | None:
    """Extrapolate the distance of features (n, d), float32 or float64, to n = infinity; None for n <= ``min_size``.

    ``influences`` (n,) are those of the images on the distance. The last part is all of the images. ``progress`` is
    called with the finished share, rising to 1.0. Raises :class:`Invalid` as :func:`frechet_distance` does,
    ``bad-count`` for fewer than three sizes.
    """
    if sizes < 3 or min_size < 2:
        raise Invalid("bad-count", f"A line needs 3 sizes of 2 images or more, not {sizes} of {min_size}.")
    require_matrix(features, "generated", min_rows=2)
    require_same_dimension(features.shape[1], len(reference.mean))
    if len(features) <= min_size:
        return None
    parts = PartDistances(features, reference)
    counts = np.linspace(min_size, len(features), sizes).astype(np.int64)
    weights = intercept_weights(counts)
    distances = np.empty(sizes)
    moved = np.zeros(len(features))
    drawn = [np.sort(random.choice(len(features), count, replace=False)) for count in counts]
    for number, distance in enumerate(map_parts(parts.distance, drawn)):
        distances[number] = distance
        rows, count = drawn[number], counts[number]
        if influences is not None:
            moved[rows] += weights[number] * (influences[rows] - influences[rows].mean()) / count
        if progress:
            progress((number + 1) / sizes)
    error = None if influences is None else float(np.sqrt(moved @ moved))
    return FidInfinity(float(weights @ distances), error, tuple(int(count) for count in counts), distances)


def intercept_weights(counts: Indices) -> Vector:
    """The weights (k,) by which distances of parts of ``counts`` images, k >= 3, make the intercept of their
    least-squares line in 1 / counts."""
    inverse = 1.0 / np.asarray(counts, np.float64)
    centred = inverse - inverse.mean()
    return np.asarray(1.0 / len(inverse) - inverse.mean() * centred / (centred @ centred))
