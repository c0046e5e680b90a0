"""Features of images, computed one batch of a fixed shape at a time, on every device."""

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from scorer.errors import Invalid
from scorer.metrics.features import degenerate
from scorer.progress import ProgressCallback

Images = NDArray[Any]
"""(n, h, w, 3), uint8 or float32 in 0..255, possibly memory-mapped and larger than memory."""
Features = NDArray[np.float32]
"""(n, d), in the order of the images."""


class DeviceLost(Exception):
    """The GPU failed or is no longer available: this process can compute nothing more on it."""


class Slot(Protocol):
    """A buffer for one batch on its way through a network."""

    batch: Images
    """(b, h, w, 3). Filled before ``launch``, unchanged until ``collect`` returns."""

    def launch(self) -> None:
        """Start computing the batch; may return before it is done."""

    def collect(self) -> Features:
        """Wait for the batch and return its features (b, d)."""


class _Immediate:
    """A slot that computes its features in ``launch``: a CPU runs nothing in the background."""

    def __init__(self, forward: Callable[[Images], Features], batch: Images) -> None:
        self.batch = batch
        self._forward = forward
        self._features = np.empty((0, 0), np.float32)

    def launch(self) -> None:
        self._features = self._forward(self.batch)

    def collect(self) -> Features:
        return self._features


def immediate_slots(forward: Callable[[Images], Features], images: Images, batch_size: int) -> Sequence[Slot]:
    """The slots of a plain function from a batch, with the images' shape and type, to its features."""
    require_images(images)
    return [_Immediate(forward, np.zeros((batch_size, *images.shape[1:]), images.dtype))]


class _LaunchedBatch(NamedTuple):
    slot: Slot
    start: int
    rows: int


def in_batches(
    images: Images, slots: Sequence[Slot], *, dimension: int, progress: ProgressCallback | None = None
) -> Features:
    """Features (n, d) float32 of images (n, h, w, 3), through ``slots`` in turn, in the images' order.

    With two slots, one batch is read and copied while the other is computed. The last batch is padded with black
    images, and their features are dropped. So there is only one shape: nothing is compiled twice, and an image's
    features don't depend on how many others came with it. Only the features take memory that grows with n.

    Raises ``Invalid``: ``wrong-images`` for another shape or type, ``degenerate-features`` naming the images (by
    index) with features that are not finite or all zero, since neither has a direction to compare
    (``docs/explanation/metrics.md#notation``).
    """
    require_images(images)
    features = np.empty((len(images), dimension), np.float32)
    unusable: list[int] = []

    def collect(launched: _LaunchedBatch) -> None:
        batch_features = launched.slot.collect()[: launched.rows]
        stop = launched.start + launched.rows
        features[launched.start : stop] = batch_features
        usable = _has_direction(launched.slot.batch[: launched.rows], batch_features)
        unusable.extend((launched.start + np.flatnonzero(~usable)).tolist())
        if progress is not None:
            progress(stop / len(images))

    in_flight: deque[_LaunchedBatch] = deque()
    batch_size = len(slots[0].batch)
    for turn, start in enumerate(range(0, len(images), batch_size)):
        if len(in_flight) == len(slots):
            collect(in_flight.popleft())
        slot = slots[turn % len(slots)]
        rows = min(batch_size, len(images) - start)
        slot.batch[:rows] = images[start : start + rows]
        slot.batch[rows:] = 0
        slot.launch()
        in_flight.append(_LaunchedBatch(slot, start, rows))
    while in_flight:
        collect(in_flight.popleft())
    if unusable:
        raise degenerate(np.array(unusable), "extracted", "zero or not finite")
    return features


def require_images(images: Images) -> None:
    """Raise ``Invalid`` (``wrong-images``) unless images are (n, h, w, 3) in uint8 or float32."""
    if images.ndim != 4 or images.shape[3] != 3 or images.dtype not in (np.uint8, np.float32):
        raise Invalid(
            "wrong-images",
            f"The images are {images.shape} in {images.dtype}; they must be (n, h, w, 3) in uint8 or float32.",
        )


def _has_direction(images: Images, features: Features) -> NDArray[np.bool_]:
    """Whether the features of each image are finite and not all zero. The pixels are also checked, since a fused ReLU
    turns a NaN into an ordinary number."""
    known = np.isfinite(images.reshape(len(images), -1)).all(axis=1)
    return np.asarray(known & np.isfinite(features).all(axis=1) & features.any(axis=1))
