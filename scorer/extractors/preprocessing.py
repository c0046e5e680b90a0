"""Preprocessing: images resized whole, in float, and normalised (``docs/explanation/metrics.md#preprocessing``).

Every constant is a buffer, made once for images of one size and moved to the device with the module. While a CUDA graph
is captured, it can neither take numbers from the host nor allocate them.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from scorer.extractor_catalogue import ANTIALIASED, CLIPPED_BICUBIC, TENSORFLOW1, ExtractorSpec


class Preprocessing(nn.Module):
    """Images (b, h, w, 3) in 0..255 as (b, 3, s, s) float32, for images of one ``size`` (h, w)."""

    def __init__(self, spec: ExtractorSpec, size: Sequence[int]) -> None:
        super().__init__()
        height, width = size
        side = spec.input_size
        self._resize_and_normalise = (
            _ResizingOf2015(height, width, side) if spec.resizing == TENSORFLOW1 else _AntialiasedResizing(spec)
        )

    def forward(self, images: Tensor) -> Tensor:
        x = images.permute(0, 3, 1, 2).to(torch.float32)
        prepared: Tensor = self._resize_and_normalise(x)
        return prepared


class _AntialiasedResizing(nn.Module):
    """Resizes, bilinear or bicubic (Keys 1981 with a = -0.5, as in Pillow and JAX), and normalises. If nothing is
    clipped in between, images are normalised first, at the smaller size. Resizing is linear and its weights add up to
    1, so the order only affects speed."""

    mean: Tensor
    std: Tensor

    def __init__(self, spec: ExtractorSpec) -> None:
        super().__init__()
        self._side = (spec.input_size, spec.input_size)
        self._mode = "bilinear" if spec.resizing == ANTIALIASED else "bicubic"
        self._clips = spec.resizing == CLIPPED_BICUBIC
        self.register_buffer("mean", torch.tensor(spec.mean).view(3, 1, 1))
        self.register_buffer("std", torch.tensor(spec.std).view(3, 1, 1))

    def forward(self, x: Tensor) -> Tensor:
        if x.shape[2:] == self._side:
            return self._normalised(x)
        if self._clips:
            return self._normalised(self._resized(x).clamp(0, 255))
        return self._resized(self._normalised(x))

    def _normalised(self, x: Tensor) -> Tensor:
        return (x / 255 - self.mean) / self.std

    def _resized(self, x: Tensor) -> Tensor:
        return nn.functional.interpolate(x, self._side, mode=self._mode, antialias=True, align_corners=False)


class _ResizingOf2015(nn.Module):
    """The first operations of the 2015 graph, in its order, so results equal the graph's to the last bit.

    TensorFlow 1 reads pixel i of n at i * size / n, without half-pixel centres, between the two pixels around it.
    """

    upper: Tensor
    lower: Tensor
    left: Tensor
    right: Tensor
    down: Tensor
    across: Tensor

    def __init__(self, height: int, width: int, side: int) -> None:
        super().__init__()
        upper, lower, down = _neighbours(height, side)
        left, right, across = _neighbours(width, side)
        for name, indices in {"upper": upper, "lower": lower, "left": left, "right": right}.items():
            self.register_buffer(name, indices)
        self.register_buffer("down", down.view(1, 1, side, 1))
        self.register_buffer("across", across.view(1, 1, 1, side))

    def forward(self, x: Tensor) -> Tensor:
        above, below = (self._between_columns(x.index_select(2, rows)) for rows in (self.upper, self.lower))
        return (above + (below - above) * self.down - 128) / 128

    def _between_columns(self, rows: Tensor) -> Tensor:
        first, second = (rows.index_select(3, columns) for columns in (self.left, self.right))
        return first + (second - first) * self.across


def _neighbours(before: int, after: int) -> tuple[Tensor, Tensor, Tensor]:
    """For each of ``after`` pixels: the index of the pixel of ``before`` at or before its place, the index of the next
    pixel, and the place between them in 0..1, float32."""
    places = torch.arange(after, dtype=torch.float32) * torch.tensor(before / after, dtype=torch.float32)
    first = places.long()
    return first, (first + 1).clamp_max(before - 1), places - first.float()
