"""The extractor ``tiny`` for tests: a fixed projection of the pixels, without torch or weights."""

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scorer.extractor_catalogue import ExtractorSpec
from scorer.extractors.batches import Features, Images, immediate_slots, in_batches
from scorer.extractors.forward_time import count_worker, timed
from scorer.extractors.options import CPU_BATCH, ExtractorOptions
from scorer.metrics.cosine import Shortlister, host_shortlist
from scorer.progress import ProgressCallback

SEED = 2019
PEDESTAL = 0.05


class Tiny:
    """Features ``max(0, b + W x)`` and ``max(0, b - W x)`` of pixels x in -1..1.

    W is seeded, (d/2, 64 * 64 * 3). Since ``b + |W x| >= b > 0``, one of each pair is positive for every image, so no
    row can be zero.
    """

    def __init__(self, spec: ExtractorSpec, options: ExtractorOptions) -> None:
        self.spec = spec
        self._batch_size = options.batch_size or CPU_BATCH
        self.provenance: dict[str, Any] = {
            "extractor": spec.identity,
            "weights_sha256": spec.weights_sha256,
            "device": "cpu",
            "precision": "float64",
            "batch_size": self._batch_size,
            "numpy": np.__version__,
        }
        self.shortlister: Shortlister = host_shortlist
        count_worker("cpu")

    def features(self, images: Images, *, progress: ProgressCallback | None = None) -> Features:
        """Features (n, d) float32 of images (n, h, w, 3); see :func:`scorer.extractors.batches.in_batches`."""
        return in_batches(
            images,
            timed(immediate_slots(self._forward, images, self._batch_size), "cpu"),
            dimension=self.spec.dimension,
            progress=progress,
        )

    def logits(self, features: Features) -> None:
        """None: there is no classifier."""

    def _forward(self, batch: Images) -> Features:
        # float64, so the last bit of a float32 feature does not depend on the order of summation.
        pixels = (_resized(batch.astype(np.float64), self.spec.input_size) / 255 - self.spec.mean) / self.spec.std
        projected = pixels.reshape(len(batch), -1) @ projection(self.spec).T
        features: Features = np.maximum(np.hstack([PEDESTAL + projected, PEDESTAL - projected]), 0).astype(np.float32)
        return features


@cache
def projection(spec: ExtractorSpec) -> NDArray[np.float64]:
    """W, (d/2, pixels): uniform, from the raw stream of PCG64, which numpy promises never to change."""
    shape = (spec.dimension // 2, spec.input_size**2 * 3)
    raw = np.random.PCG64(SEED).random_raw(shape[0] * shape[1])
    uniform = (raw >> np.uint64(11)).astype(np.float64) * 2.0**-52 - 1
    scaled: NDArray[np.float64] = uniform.reshape(shape) / np.sqrt(shape[1] / 3)
    return scaled


def _resized(batch: NDArray[np.float64], size: int) -> NDArray[np.float64]:
    """Antialiased bilinear resizing of (b, h, w, 3) to (b, size, size, 3), as two small matrix products."""
    if batch.shape[1:3] == (size, size):
        return batch
    rows, columns = _filter(batch.shape[1], size), _filter(batch.shape[2], size)
    resized: NDArray[np.float64] = np.einsum("ih,bhwc,jw->bijc", rows, batch, columns, optimize=True)
    return resized


def _filter(before: int, after: int) -> NDArray[np.float64]:
    """(after, before): the weights of each new pixel, a triangle around its centre, widened if the image shrinks."""
    scale = before / after
    centres = (np.arange(after) + 0.5) * scale - 0.5
    weights = np.maximum(0, 1 - np.abs(np.arange(before) - centres[:, None]) / max(scale, 1))
    normalised: NDArray[np.float64] = weights / weights.sum(axis=1, keepdims=True)
    return normalised
