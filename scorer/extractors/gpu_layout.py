"""The layout of a network on a GPU: the order of its tensors in memory, and which convolutions are products.

In float32 without TF32, cuDNN convolves channels first. With channels last it copies the input before most convolutions
and the output after them. But a 1 x 1 convolution is a matrix product, which cuBLAS computes channels last without a
copy, and depthwise convolutions have their own kernels in both orders. So a network with depthwise convolutions, whose
other convolutions are nearly all 1 x 1, is faster channels last with products. Any other network is faster channels
first (measured: ``benchmarks/GPU.md``).
"""

from enum import StrEnum

import torch
from torch import Tensor, nn

from scorer.extractors.batchnorm_folding import replace_module


class GpuLayout(StrEnum):
    """The layout of a network; its name is part of a measurement's provenance."""

    CHANNELS_FIRST = "channels-first"
    POINTWISE_PRODUCTS = "pointwise-products"
    """Channels last, with 1 x 1 convolutions as matrix products."""

    @property
    def memory_format(self) -> torch.memory_format:
        """The order of a network's tensors, including its input."""
        return torch.contiguous_format if self is GpuLayout.CHANNELS_FIRST else torch.channels_last


def lay_out(network: nn.Module) -> GpuLayout:
    """Lay out a network for a GPU, in place, and return the layout that its input needs."""
    convolutions = [(path, module) for path, module in network.named_modules() if isinstance(module, nn.Conv2d)]
    if any(1 < convolution.groups == convolution.in_channels for _, convolution in convolutions):
        layout = GpuLayout.POINTWISE_PRODUCTS
        for path, convolution in convolutions:
            if _is_pointwise(convolution):
                replace_module(network, path, PointwiseProduct(convolution))
    else:
        layout = GpuLayout.CHANNELS_FIRST
    network.to(memory_format=layout.memory_format)
    return layout


def _is_pointwise(convolution: nn.Conv2d) -> bool:
    # timm's class for TensorFlow's 'same' padding also has (0, 0); for 1 x 1 it pads nothing.
    return convolution.kernel_size == (1, 1) and convolution.groups == 1 and convolution.padding == (0, 0)


class PointwiseProduct(nn.Module):
    """A 1 x 1 convolution as a matrix product: (b, c, h, w) to (b, c', h', w'), channels last."""

    def __init__(self, convolution: nn.Conv2d) -> None:
        super().__init__()
        self.weight = nn.Parameter(convolution.weight.flatten(1), requires_grad=False)
        self.bias = convolution.bias
        self._steps = (slice(None), *(slice(None, None, step) for step in convolution.stride))

    def forward(self, x: Tensor) -> Tensor:
        pixels = x.permute(0, 2, 3, 1)[self._steps]
        product: Tensor = nn.functional.linear(pixels, self.weight, self.bias)
        return product.permute(0, 3, 1, 2)
