"""Matrix products and convolutions, and their number of multiplications and additions."""

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional

from scorer.generators.onnx.graph import Node
from scorer.generators.onnx.operators.operator import Operator, plain

_CONVOLUTIONS = (functional.conv1d, functional.conv2d, functional.conv3d)
_TRANSPOSED = (functional.conv_transpose1d, functional.conv_transpose2d, functional.conv_transpose3d)
Pads = tuple[tuple[int, int], ...]
"""Padding before and after, for every spatial axis."""

_HAS_ONEDNN = torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call] # torch does not declare its type


def matrix_product(a: Tensor, b: Tensor) -> Tensor:
    """``a @ b``. Without gradients, oneDNN multiplies by a matrix with contiguous columns: MKL takes twice as long on
    processors of AMD."""
    fits = a.dtype == b.dtype == torch.float32 and a.ndim == b.ndim == 2 and a.shape[1] == b.shape[0]
    if not (_HAS_ONEDNN and torch.is_inference_mode_enabled() and fits and b.T.is_contiguous()):
        return torch.matmul(a, b)
    product: Tensor = torch.ops.mkldnn._linear_pointwise(a, b.T, None, "none", [], "")  # noqa: SLF001 - no public name
    return product


def _gemm(node: Node, a: Tensor, b: Tensor, c: Tensor | None = None) -> Tensor:
    a = a.T if node.integer("transA", 0) else a
    b = b.T if node.integer("transB", 0) else b
    product = node.number("alpha", 1.0) * matrix_product(a, b)
    return product if c is None else product + node.number("beta", 1.0) * c


def _conv(node: Node, x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    space = _space(node, x, weight)
    strides, dilations = each_axis(node, "strides", space, 1), each_axis(node, "dilations", space, 1)
    pads = _pads(node, x, weight, strides, dilations)
    if any(before != after for before, after in pads):
        x = functional.pad(x, _as_torch(pads))
        pads = ((0, 0),) * space
    even = tuple(before for before, _ in pads)
    convolve = _CONVOLUTIONS[space - 1]
    return convolve(x, weight, bias, strides, even, dilations, node.integer("group", 1))


def _conv_transpose(node: Node, x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Uses torch's own padding if pads are equal on both sides, otherwise the full output, then cut."""
    space = _space(node, x, weight)
    strides, dilations = each_axis(node, "strides", space, 1), each_axis(node, "dilations", space, 1)
    extra = each_axis(node, "output_padding", space, 0)
    full = [strides[i] * (x.shape[2 + i] - 1) + (weight.shape[2 + i] - 1) * dilations[i] + 1 for i in range(space)]
    pads = _transposed_pads(node, full, strides, extra, x.shape[2:])
    convolve = _TRANSPOSED[space - 1]
    group = node.integer("group", 1)
    even = all(before == after >= 0 for before, after in pads)
    if even and all(extra[i] < max(strides[i], dilations[i]) for i in range(space)):
        return convolve(x, weight, bias, strides, [before for before, _ in pads], extra, group, dilations)
    whole = convolve(x, weight, None, strides, 0, 0, group, dilations)
    cut = [(-before, extra[i] - after) for i, (before, after) in enumerate(pads)]
    whole = functional.pad(whole, _as_torch(cut))
    return whole if bias is None else whole + bias.reshape(-1, *[1] * space)


def _transposed_pads(
    node: Node, full: Sequence[int], strides: Sequence[int], extra: Sequence[int], sides: Sequence[int]
) -> Pads:
    """The file's pads, or those that give ``output_shape`` or, with ``SAME``, the input's shape times the stride."""
    wanted = node.integers("output_shape")
    way = node.text("auto_pad", "NOTSET")
    if wanted is None and way in {"NOTSET", "VALID"}:
        return _explicit_pads(node, len(full))
    if wanted is None:
        wanted = tuple(stride * side for stride, side in zip(strides, sides, strict=True))
    total = [one + more - to for one, more, to in zip(full, extra, wanted, strict=True)]
    if way == "SAME_UPPER":
        return tuple((pad // 2, pad - pad // 2) for pad in total)
    return tuple((pad - pad // 2, pad // 2) for pad in total)


def _pads(node: Node, x: Tensor, weight: Tensor, strides: Sequence[int], dilations: Sequence[int]) -> Pads:
    way = node.text("auto_pad", "NOTSET")
    space = len(strides)
    if way in {"NOTSET", "VALID"}:
        return _explicit_pads(node, space)
    total = []
    for i in range(space):
        side = x.shape[2 + i]
        reach = (weight.shape[2 + i] - 1) * dilations[i] + 1
        total.append(max((-(-side // strides[i]) - 1) * strides[i] + reach - side, 0))
    if way == "SAME_UPPER":
        return tuple((pad // 2, pad - pad // 2) for pad in total)
    return tuple((pad - pad // 2, pad // 2) for pad in total)


def _explicit_pads(node: Node, space: int) -> Pads:
    pads = node.integers("pads") or (0,) * 2 * space
    if len(pads) != 2 * space:
        raise node.refusal("bad-node", f"has {len(pads)} pads for {space} axes.")
    return tuple((pads[i], pads[i + space]) for i in range(space))


def each_axis(node: Node, name: str, space: int, default: int) -> tuple[int, ...]:
    """A list attribute with one integer for each spatial axis."""
    values = node.integers(name) or (default,) * space
    if len(values) != space:
        raise node.refusal("bad-node", f"has {len(values)} '{name}' for {space} axes.")
    return values


def _space(node: Node, x: Tensor, weight: Tensor) -> int:
    space = x.ndim - 2
    if space not in {1, 2, 3} or weight.ndim != x.ndim:
        raise node.refusal("bad-node", "convolves over a number of spatial axes other than one, two or three.")
    return space


def _as_torch(pads: Sequence[tuple[int, int]]) -> list[int]:
    """Pads in torch's order, the last axis first."""
    return [side for both in reversed(pads) for side in both]


def count_operations(node: Node, inputs: Sequence[Tensor | None], output: Tensor) -> int:
    """Multiplications and additions of a node, from shapes alone; 0 for operators with a negligible cost."""
    if node.kind == "Resize":
        return 2 * output.numel() * sum(output.shape[2:])
    if len(inputs) < 2 or inputs[0] is None or inputs[1] is None:
        return 0
    first, second = inputs[0], inputs[1]
    match node.kind:
        case "Conv":
            return 2 * output.numel() * second[0].numel()
        case "ConvTranspose":
            return 2 * first.numel() * second[0].numel()
        case "MatMul" | "Gemm":
            return 2 * output.numel() * first.shape[0 if node.attributes.get("transA") else -1]
    return 0


LINEAR: dict[str, Operator] = {
    "Conv": Operator(_conv),
    "ConvTranspose": Operator(_conv_transpose),
    "Gemm": Operator(_gemm),
    "MatMul": plain(matrix_product),
}
