"""Preprocessing: images resized whole, in float, and normalised (``docs/explanation/metrics.md#preprocessing``)."""

import torch
from torch import Tensor, nn
from torch_fidelity.interpolate_compat_tensorflow import interpolate_bilinear_2d_like_tensorflow1x

from scorer.extractor_catalogue import TENSORFLOW1, ExtractorSpec


def preprocess(images: Tensor, spec: ExtractorSpec) -> Tensor:
    """Images (b, h, w, 3) in 0..255 as (b, 3, s, s) float32, channels last, on the device where they are."""
    x = images.permute(0, 3, 1, 2).to(torch.float32)
    x = _as_in_2015(x, spec) if spec.resizing == TENSORFLOW1 else _antialiased(x, spec)
    return x.contiguous(memory_format=torch.channels_last)


def _antialiased(x: Tensor, spec: ExtractorSpec) -> Tensor:
    """Normalise at the smaller size, then resize: resizing is linear and its weights add up to 1, so the order only
    affects speed.
    """
    mean, std = (torch.tensor(values, device=x.device).view(3, 1, 1) for values in (spec.mean, spec.std))
    x = (x / 255 - mean) / std
    side = (spec.input_size, spec.input_size)
    if x.shape[2:] == side:
        return x
    return nn.functional.interpolate(x, side, mode="bilinear", antialias=True, align_corners=False)


def _as_in_2015(x: Tensor, spec: ExtractorSpec) -> Tensor:
    """The first operations of the 2015 graph, in its order, so that results equal the graph's to the last bit."""
    side = (spec.input_size, spec.input_size)
    resized: Tensor = interpolate_bilinear_2d_like_tensorflow1x(x, size=side, align_corners=False)
    return (resized - 128) / 128
