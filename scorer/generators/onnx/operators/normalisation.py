"""Operators over whole axes: normalisation, pooling, reductions, softmax."""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional

from scorer.generators.onnx.graph import Node
from scorer.generators.onnx.operators.linear import each_axis
from scorer.generators.onnx.operators.operator import Operator, integers, plain, resolve_axis


def _batch(node: Node, x: Tensor, scale: Tensor, bias: Tensor, mean: Tensor, variance: Tensor) -> Tensor:
    if node.integer("training_mode", 0) or len(node.outputs) > 1:
        raise node.refusal("training-mode", "normalises over the batch. Export the generator for inference (.eval()).")
    return functional.batch_norm(x, mean, variance, scale, bias, eps=node.number("epsilon", 1e-5))


def _instance(node: Node, x: Tensor, scale: Tensor, bias: Tensor) -> Tensor:
    axes = tuple(range(2, x.ndim))
    by_channel = (-1, *[1] * (x.ndim - 2))
    return _standard(x, axes, node.number("epsilon", 1e-5)) * scale.reshape(by_channel) + bias.reshape(by_channel)


def _layer(node: Node, x: Tensor, scale: Tensor, bias: Tensor | None = None) -> Tensor:
    axes = tuple(range(resolve_axis(node, node.integer("axis", -1), x.ndim), x.ndim))
    scaled = _standard(x, axes, node.number("epsilon", 1e-5)) * scale
    return scaled if bias is None else scaled + bias


def _group(node: Node, x: Tensor, scale: Tensor, bias: Tensor) -> Tensor:
    """Scale and bias have one number per group up to opset 20, and one per channel from opset 21."""
    groups = node.integer("num_groups", 0)
    by_channel = (1, -1, *[1] * (x.ndim - 2))
    parts = x.reshape(x.shape[0], groups, -1)
    standard = _standard(parts, (2,), node.number("epsilon", 1e-5))
    if node.opset < 21:
        return (standard * scale.reshape(1, -1, 1) + bias.reshape(1, -1, 1)).reshape(x.shape)
    return standard.reshape(x.shape) * scale.reshape(by_channel) + bias.reshape(by_channel)


def _standard(x: Tensor, axes: tuple[int, ...], epsilon: float) -> Tensor:
    variance, mean = torch.var_mean(x, axes, correction=0, keepdim=True)
    return (x - mean) * torch.rsqrt(variance + epsilon)


def _average_pool(node: Node, x: Tensor) -> Tensor:
    space = x.ndim - 2
    kernel = each_axis(node, "kernel_shape", space, 0)
    pads = node.integers("pads") or (0,) * 2 * space
    odd = node.text("auto_pad", "NOTSET") != "NOTSET" or any(step != 1 for step in node.integers("dilations") or ())
    if space != 2 or odd or pads[:space] != pads[space:]:
        raise node.refusal("unsupported-form", "must pool over two axes with equal pads and without dilation.")
    strides = each_axis(node, "strides", space, 1)
    ceil, padded = bool(node.integer("ceil_mode", 0)), bool(node.integer("count_include_pad", 0))
    return functional.avg_pool2d(x, kernel, strides, pads[:space], ceil, padded)


def _along_axis(run: Callable[[Tensor, int], Tensor]) -> Operator:
    return Operator(lambda node, x: run(x, resolve_axis(node, node.integer("axis", -1), x.ndim)))


def _reduced(reduce: Callable[[Tensor, tuple[int, ...], bool], Tensor]) -> Operator:
    """The operator of a reduction. Axes are an attribute or, in newer files, an input; without any, all are reduced.

    ``noop_with_empty_axes``, which would reduce none, is refused.
    """

    def run(node: Node, x: Tensor, axes: Tensor | None = None) -> Tensor:
        named = node.integers("axes") if axes is None else integers(node, axes)
        if not named and node.integer("noop_with_empty_axes", 0):
            raise node.refusal("unsupported-form", "has noop_with_empty_axes, which Kennel does not support.")
        over = tuple(resolve_axis(node, axis, x.ndim) for axis in named or range(x.ndim))
        return reduce(x, over, bool(node.integer("keepdims", 1)))

    return Operator(run, (1,))


def _product(x: Tensor, over: tuple[int, ...], keep: bool) -> Tensor:
    for axis in sorted(over, reverse=True):
        x = torch.prod(x, axis, keepdim=keep)
    return x


NORMALISING: dict[str, Operator] = {
    "AveragePool": Operator(_average_pool),
    "BatchNormalization": Operator(_batch),
    "GlobalAveragePool": plain(lambda x: x.mean(tuple(range(2, x.ndim)), keepdim=True)),
    "GroupNormalization": Operator(_group),
    "InstanceNormalization": Operator(_instance),
    "LayerNormalization": Operator(_layer),
    "LogSoftmax": _along_axis(torch.log_softmax),
    "ReduceL2": _reduced(lambda x, over, keep: torch.linalg.vector_norm(x, dim=over, keepdim=keep)),
    "ReduceMax": _reduced(lambda x, over, keep: torch.amax(x, over, keepdim=keep)),
    "ReduceMean": _reduced(lambda x, over, keep: torch.mean(x, over, keepdim=keep)),
    "ReduceMin": _reduced(lambda x, over, keep: torch.amin(x, over, keepdim=keep)),
    "ReduceProd": _reduced(_product),
    "ReduceSum": _reduced(lambda x, over, keep: torch.sum(x, over, keepdim=keep)),
    "ReduceSumSquare": _reduced(lambda x, over, keep: torch.sum(x * x, over, keepdim=keep)),
    "Softmax": _along_axis(torch.softmax),
}
