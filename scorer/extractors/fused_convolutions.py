"""Convolutions fused with their activation on CPUs: the speed of torch.compile without a compiler.

torch.compile with frozen weights gets most of its speed on CPUs from two steps that need no generated code. One is
oneDNN's convolution with the activation as its last step (no second pass over the result). The other is to reorder the
weights once for that kernel. Both are operators of torch, called here directly. They are private (underscore), so
torch's version is pinned, and a test compares each network with its plain form.
"""

from typing import Any

import torch
from torch import Tensor, nn

from scorer.extractors.batchnorm_folding import followers, replace_module

_Activation = tuple[str, list[float]]
_onednn: Any = torch.ops.mkldnn


def can_fuse() -> bool:
    """Whether this torch has oneDNN with the operators used in this module."""
    available: Any = torch.backends.mkldnn
    names = ("_convolution_pointwise", "_reorder_convolution_weight")
    return bool(available.is_available()) and all(hasattr(_onednn, name) for name in names)


def fuse(network: nn.Module) -> nn.Module:
    """Replace, in place, every convolution (with the ReLU or ReLU6 that is the only reader of its output) by a fused
    convolution.

    The network must be in evaluation mode with its batch norms folded, and run afterwards in float32 on the CPU on
    batches of one shape.
    """
    activations = dict(followers(network, nn.Conv2d, nn.ReLU, nn.ReLU6))
    convolutions = [(path, module) for path, module in network.named_modules() if isinstance(module, nn.Conv2d)]
    for path, convolution in convolutions:
        after = activations.get(path)
        replace_module(network, path, FusedConvolution(convolution, _operand(network, after)))
        if after is not None:
            replace_module(network, after, nn.Identity())
    return network


def _operand(network: nn.Module, path: str | None) -> _Activation:
    if path is None:
        return "none", []
    return ("hardtanh", [0.0, 6.0]) if isinstance(network.get_submodule(path), nn.ReLU6) else ("relu", [])


class FusedConvolution(nn.Module):
    """A convolution and its activation in one kernel: (b, c, h, w) to (b, c', h', w'), channels last."""

    def __init__(self, convolution: nn.Conv2d, activation: _Activation) -> None:
        super().__init__()
        self._plain = convolution
        self._activation = activation
        # timm's class for TensorFlow's 'same' padding, which depends on the input size.
        self._same = type(convolution).__name__ == "Conv2dSame"
        self._reordered: Tensor | None = None

    def forward(self, x: Tensor) -> Tensor:
        plain, (name, scalars) = self._plain, self._activation
        x = x.contiguous(memory_format=torch.channels_last)
        padding, surplus = self._padding(x)
        stride = list(plain.stride)
        dilation = list(plain.dilation)
        groups = plain.groups
        if self._reordered is None:
            self._reordered = _onednn._reorder_convolution_weight(  # noqa: SLF001
                plain.weight, padding, stride, dilation, groups, list(x.shape)
            )
        y: Tensor = _onednn._convolution_pointwise(  # noqa: SLF001
            x, self._reordered, plain.bias, padding, stride, dilation, groups, name, scalars, ""
        )
        return y[:, :, surplus[0] :, surplus[1] :]

    def _padding(self, x: Tensor) -> tuple[list[int], list[int]]:
        """Symmetric padding, and the number of first rows and columns of the result to drop.

        TensorFlow pads (l, r) with r = l or l + 1. In the second case, padding l + stride on both sides gives the same
        outputs after one surplus row or column. Cropping the small result is cheaper than padding the large input.
        """
        plain = self._plain
        if not self._same:
            return [int(side) for side in plain.padding], [0, 0]
        padding, surplus = [], []
        for size, kernel, stride in zip(x.shape[2:], plain.kernel_size, plain.stride, strict=True):
            total = max((-(-size // stride) - 1) * stride + kernel - size, 0)
            uneven = total % 2
            padding.append(total // 2 + uneven * stride)
            surplus.append(uneven)
        return padding, surplus
