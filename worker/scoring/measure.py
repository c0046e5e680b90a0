"""Measures images against a prepared reference: features, nearest neighbours, Fréchet distance.

It needs neither database nor queue, so the command line measures in the same way. The provenance of a measurement
contains that of the extractor, and the versions of the libraries that do the other arithmetic.
"""

import platform
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
import PIL
import scipy
from numpy.typing import NDArray
from threadpoolctl import threadpool_info

from scorer.extractors import Extractor, Features
from scorer.metrics.cosine import NormalisedFeatures
from scorer.metrics.memorization import Nearest, nearest
from scorer.metrics.sample_quality.frechet import Statistics, frechet_distance, statistics_of
from scorer.progress import StageProgress


def environment() -> dict[str, Any]:
    """Versions of the libraries that decode, multiply and decompose, as a measurement records them; JSON.

    The last bits of a Fréchet distance depend on the BLAS of numpy and scipy: on its version, on the kernels that it
    chose for this processor, and on how many threads share a sum.
    """
    import_module("scipy.linalg")  # its BLAS is loaded on first use
    libraries = [library for library in threadpool_info() if library["user_api"] == "blas"]
    # torch may bring its own BLAS, which takes no part in a measurement.
    used = [library for library in libraries if "torch" not in library["filepath"]]
    names = {
        f"{library['internal_api']} {library['version']} {library.get('architecture', '')}".strip() for library in used
    }
    return {
        "python": platform.python_version(),
        "pillow": PIL.__version__,
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "blas": "; ".join(sorted(names)) or None,
        "blas_threads": max((library["num_threads"] for library in used), default=None),
    }


SCORER_VERSION = "1"
"""Increase it whenever the same zip would get different numbers; a rescore then adds new rows and keeps the old
ones."""
HISTOGRAM_BINS = 60


@dataclass(frozen=True)
class PreparedReference:
    """A prepared reference: statistics with their factor, and normalised features (m, d) float32."""

    statistics: Statistics
    normalised: NormalisedFeatures
    signed: bool


@dataclass(frozen=True, eq=False)
class RawMeasurement:
    """The measured numbers of images against one reference."""

    features: Features
    """Of all images, or of those in the first draw."""
    fid: float
    nearest: Nearest
    """Of all images, in the order of the draws."""
    seconds: dict[str, float]
    fids: tuple[float, ...] = ()
    """The Fréchet distance of each draw; ``fid`` is their mean."""

    @property
    def fid_spread(self) -> float | None:
        """The standard deviation of the Fréchet distance over draws; None for one draw."""
        return float(np.std(self.fids, ddof=1)) if len(self.fids) > 1 else None

    def draws(self) -> list[dict[str, float]]:
        """The Fréchet and memorization distance of each draw."""
        parts = np.split(self.nearest.distance, len(self.fids))
        return [
            {"fid": fid, "memorization_distance": float(part.mean())}
            for fid, part in zip(self.fids, parts, strict=True)
        ]

    def histogram(self) -> dict[str, Any]:
        """Counts of the per-image distances in equal bins from 0."""
        top = max(float(self.nearest.distance.max()), 1e-3)
        counts, edges = np.histogram(self.nearest.distance, bins=HISTOGRAM_BINS, range=(0.0, top))
        return {"counts": counts.tolist(), "low": float(edges[0]), "high": float(edges[-1])}


def measure(
    images: NDArray[Any], extractor: Extractor, reference: PreparedReference, *, progress: StageProgress
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


def combine(draws: Sequence[RawMeasurement]) -> RawMeasurement:
    """The means over draws of equally many images."""
    fids = tuple(draw.fid for draw in draws)
    nearest = Nearest(
        np.concatenate([draw.nearest.distance for draw in draws]),
        np.concatenate([draw.nearest.index for draw in draws]),
    )
    seconds = {stage: round(sum(draw.seconds[stage] for draw in draws), 3) for stage in draws[0].seconds}
    return RawMeasurement(draws[0].features, float(np.mean(fids)), nearest, seconds, fids)


@contextmanager
def _timed(seconds: dict[str, float], stage: str) -> Iterator[None]:
    start = time.perf_counter()
    yield
    seconds[stage] = round(time.perf_counter() - start, 3)
