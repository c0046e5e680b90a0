"""Measures images against a prepared reference: features, nearest neighbours, Fréchet distance.

It needs neither database nor queue, so the command line measures in the same way.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scorer.extractors import Extractor, Features
from scorer.metrics.cosine import NormalisedFeatures
from scorer.metrics.memorization import Nearest, nearest
from scorer.metrics.sample_quality.frechet import Statistics, frechet_distance, statistics_of
from worker.runtime.heartbeat import StageProgress

SCORER_VERSION = "1"
"""Raised whenever the same zip would measure differently; a rescore then adds rows beside the old ones."""
HISTOGRAM_BINS = 60


@dataclass(frozen=True)
class PreparedReference:
    """A prepared reference: statistics with their factor, and normalised features (m, d) float32."""

    statistics: Statistics
    normalised: NormalisedFeatures
    signed: bool


@dataclass(frozen=True, eq=False)
class RawMeasurement:
    """What was measured of one set of images against one reference."""

    features: Features
    fid: float
    nearest: Nearest
    seconds: dict[str, float]

    def histogram(self) -> dict[str, Any]:
        """Counts of the per-image distances in equal bins from 0."""
        top = max(float(self.nearest.distance.max()), 1e-3)
        counts, edges = np.histogram(self.nearest.distance, bins=HISTOGRAM_BINS, range=(0.0, top))
        return {"counts": counts.tolist(), "low": float(edges[0]), "high": float(edges[-1])}


def measure(
    images: NDArray[Any], extractor: Extractor, reference: PreparedReference, progress: StageProgress
) -> RawMeasurement:
    """Measure images (n, s, s, 3) uint8. ``Invalid`` if an image has degenerate features."""
    seconds: dict[str, float] = {}
    with _timed(seconds, "features"):
        features = extractor.features(images, progress=lambda fraction: progress("features", fraction))
    with _timed(seconds, "neighbours"):
        neighbours = nearest(
            features,
            reference.normalised,
            signed=reference.signed,
            shortlister=extractor.shortlister,
            progress=lambda fraction: progress("neighbours", fraction),
        )
    progress("frechet", 0.0)
    with _timed(seconds, "frechet"):
        fid = frechet_distance(statistics_of(features), reference.statistics)
    progress("frechet", 1.0)
    return RawMeasurement(features, fid, neighbours, seconds)


@contextmanager
def _timed(seconds: dict[str, float], stage: str) -> Iterator[None]:
    start = time.perf_counter()
    yield
    seconds[stage] = round(time.perf_counter() - start, 3)
