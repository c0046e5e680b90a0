"""``tiny``: a fixed random projection of the pixels, for tests. It needs no torch and no weights."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scorer.catalogue import ExtractorSpec

SEED = 64
BATCH = 256


class Tiny:
    """A seeded Gaussian projection of the pixels in 0..1, averaged to 64 numbers a channel, then ReLU."""

    def __init__(self, spec: ExtractorSpec) -> None:
        self._dimension = spec.dimension
        self.provenance: dict[str, Any] = {
            "extractor": spec.identity,
            "weights_sha256": None,
            "device": "cpu",
            "precision": "float32",
            "mode": "numpy",
            "numpy": np.__version__,
        }

    def features(self, images: NDArray[Any], *, progress: Callable[[float], None] | None = None) -> NDArray[np.float32]:
        """Features (n, d) float32 of images (n, h, w, 3) in 0..255."""
        pixels = images[0].size
        rng = np.random.default_rng(SEED)
        projection = rng.standard_normal((pixels, self._dimension), dtype=np.float32) / np.float32(np.sqrt(pixels))
        # A pedestal keeps every row away from zero, also that of a black image.
        features = np.empty((len(images), self._dimension), np.float32)
        for start in range(0, len(images), BATCH):
            batch = images[start : start + BATCH].reshape(-1, pixels).astype(np.float32) / np.float32(255)
            features[start : start + BATCH] = np.maximum(batch @ projection, 0) + np.float32(0.01)
            if progress is not None:
                progress(min(1.0, (start + BATCH) / len(images)))
        return features
