"""Operators that rearrange, index, pad or create tensors, and operators that compute with shapes."""

import math

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from scorer.generators.onnx.graph import Node
from scorer.generators.onnx.operators.operator import Operator, integers, numbers, resolve_axis

_PAD_MODES = {"constant": "constant", "reflect": "reflect", "edge": "replicate"}


def _reshape(node: Node, x: Tensor, shape: Tensor) -> Tensor:
    """0 leaves an axis unchanged, unless ``allowzero`` is set."""
    wanted = list(integers(node, shape))
    if not node.integer("allowzero", 0):
        wanted = [x.shape[i] if side == 0 else side for i, side in enumerate(wanted)]
    return x.reshape(wanted)


def _flatten(node: Node, x: Tensor) -> Tensor:
    axis = node.integer("axis", 1)
    axis = axis + x.ndim if axis < 0 else axis
    return x.reshape(math.prod(x.shape[:axis]), -1)


def _transpose(node: Node, x: Tensor) -> Tensor:
    return x.permute(node.integers("perm") or tuple(reversed(range(x.ndim))))


def _squeeze(node: Node, x: Tensor, axes: Tensor | None = None) -> Tensor:
    over = [i for i in range(x.ndim) if x.shape[i] == 1] if axes is None else integers(node, axes)
    gone = {resolve_axis(node, axis, x.ndim) for axis in over}
    if any(x.shape[axis] != 1 for axis in gone):
        raise node.refusal("bad-node", "removes an axis that is longer than 1.")
    return x.reshape([side for i, side in enumerate(x.shape) if i not in gone])


def _unsqueeze(node: Node, x: Tensor, axes: Tensor) -> Tensor:
    named = integers(node, axes)
    rank = x.ndim + len(named)
    new = {resolve_axis(node, axis, rank) for axis in named}
    sides = iter(x.shape)
    return x.reshape([1 if i in new else next(sides) for i in range(rank)])


def _concat(node: Node, *parts: Tensor) -> Tensor:
    return torch.cat(parts, resolve_axis(node, node.integer("axis", 0), parts[0].ndim))


def _split(node: Node, x: Tensor, sizes: Tensor | None = None) -> tuple[Tensor, ...]:
    axis = resolve_axis(node, node.integer("axis", 0), x.ndim)
    if sizes is not None:
        return torch.split(x, list(integers(node, sizes)), axis)
    count = node.integer("num_outputs", len(node.outputs))
    return torch.split(x, -(-x.shape[axis] // count), axis)


def _slice(
    node: Node, x: Tensor, starts: Tensor, ends: Tensor, axes: Tensor | None = None, steps: Tensor | None = None
) -> Tensor:
    first, last = integers(node, starts), integers(node, ends)
    over = tuple(range(len(first))) if axes is None else integers(node, axes)
    by = (1,) * len(first) if steps is None else integers(node, steps)
    for start, end, axis, step in zip(first, last, over, by, strict=True):
        axis = resolve_axis(node, axis, x.ndim)  # noqa: PLW2901 - the same axis, counted from the front
        taken = range(*slice(start, end, step).indices(x.shape[axis]))
        if step > 0:
            x = x[(slice(None),) * axis + (slice(taken.start, max(taken.start, taken.stop), step),)]
        else:
            x = x.index_select(axis, torch.tensor(list(taken), dtype=torch.int64, device=x.device))
    return x


def _gather(node: Node, x: Tensor, places: Tensor) -> Tensor:
    axis = resolve_axis(node, node.integer("axis", 0), x.ndim)
    places = torch.where(places < 0, places + x.shape[axis], places)
    taken = x.index_select(axis, places.reshape(-1))
    return taken.reshape((*x.shape[:axis], *places.shape, *x.shape[axis + 1 :]))


def _expand(node: Node, x: Tensor, shape: Tensor) -> Tensor:
    """Broadcasting in both directions: if the shape says 1, the tensor's side stays."""
    wanted = integers(node, shape)
    current = (1,) * (len(wanted) - x.ndim) + tuple(x.shape)
    wanted = (1,) * (len(current) - len(wanted)) + wanted
    return x.expand([side if to == 1 else to for side, to in zip(current, wanted, strict=True)])


def _shape(node: Node, x: Tensor) -> Tensor:
    sides = list(x.shape)[node.integer("start", 0) : node.integer("end", x.ndim)]
    return torch.tensor(sides, dtype=torch.int64, device="cpu")


def _size(_: Node, x: Tensor) -> Tensor:
    return torch.tensor(x.numel(), dtype=torch.int64, device="cpu")


def _constant(node: Node) -> Tensor:
    """The node's only attribute is the value."""
    [(name, value)] = node.attributes.items()
    match name:
        case "value" if isinstance(value, np.ndarray):
            return torch.tensor(value, device="cpu")
        case "value_int" | "value_ints" if isinstance(value, int | tuple):
            return torch.tensor(value, dtype=torch.int64, device="cpu")
        case "value_float" | "value_floats" if isinstance(value, float | tuple):
            return torch.tensor(value, dtype=torch.float32, device="cpu")
    raise node.refusal("bad-node", "has no readable value.")


def _constant_of_shape(node: Node, shape: Tensor) -> Tensor:
    value = node.attributes.get("value")
    if value is not None and (not isinstance(value, np.ndarray) or value.size != 1):
        raise node.refusal("bad-node", "has no readable value.")
    one = torch.zeros(1, device="cpu") if value is None else torch.tensor(value, device="cpu")
    return torch.full(integers(node, shape), one.item(), dtype=one.dtype)


def _range(node: Node, start: Tensor, limit: Tensor, delta: Tensor) -> Tensor:
    [first], [end], [step] = numbers(node, start), numbers(node, limit), numbers(node, delta)
    count = max(0, math.ceil((end - first) / step))
    return torch.arange(count, dtype=start.dtype) * step + first


def _pad(node: Node, x: Tensor, pads: Tensor, value: Tensor | None = None, axes: Tensor | None = None) -> Tensor:
    mode = node.text("mode", "constant")
    if mode not in _PAD_MODES:
        raise node.refusal("unsupported-form", f"pads with the mode '{mode[:20]}', which Kennel does not support.")
    over = [resolve_axis(node, axis, x.ndim) for axis in (range(x.ndim) if axes is None else integers(node, axes))]
    widths = integers(node, pads)
    sides = {axis: (widths[i], widths[i + len(over)]) for i, axis in enumerate(over)}
    both = [side for axis in reversed(range(x.ndim)) for side in sides.get(axis, (0, 0))]
    if mode == "constant":
        filling = 0.0 if value is None else numbers(node, value)[0]
        return functional.pad(x, both, value=filling)
    if any(both[4:]) or x.ndim != 4:
        raise node.refusal("unsupported-form", "reflects or repeats along axes other than image height and width.")
    return functional.pad(x, both[:4], mode=_PAD_MODES[mode])


def _depth_to_space(node: Node, x: Tensor) -> Tensor:
    n, depth, height, width = x.shape
    b = node.integer("blocksize", 1)
    if node.text("mode", "DCR") == "DCR":
        parts = x.reshape(n, b, b, depth // b**2, height, width).permute(0, 3, 4, 1, 5, 2)
    else:
        parts = x.reshape(n, depth // b**2, b, b, height, width).permute(0, 1, 4, 2, 5, 3)
    return parts.reshape(n, depth // b**2, height * b, width * b)


def _space_to_depth(node: Node, x: Tensor) -> Tensor:
    if node.text("mode", "DCR") != "DCR":
        raise node.refusal("unsupported-form", "rearranges columns before rows, which Kennel does not support.")
    n, depth, height, width = x.shape
    b = node.integer("blocksize", 1)
    parts = x.reshape(n, depth, height // b, b, width // b, b).permute(0, 3, 5, 1, 2, 4)
    return parts.reshape(n, depth * b**2, height // b, width // b)


ARRANGING: dict[str, Operator] = {
    "Concat": Operator(_concat),
    "Constant": Operator(_constant),
    "ConstantOfShape": Operator(_constant_of_shape, (0,)),
    "DepthToSpace": Operator(_depth_to_space),
    "Expand": Operator(_expand, (1,)),
    "Flatten": Operator(_flatten),
    "Gather": Operator(_gather),
    "Pad": Operator(_pad, (1, 2, 3)),
    "Range": Operator(_range, (0, 1, 2)),
    "Reshape": Operator(_reshape, (1,)),
    "Shape": Operator(_shape),
    "Size": Operator(_size),
    "Slice": Operator(_slice, (1, 2, 3, 4)),
    "SpaceToDepth": Operator(_space_to_depth),
    "Split": Operator(_split, (1,)),
    "Squeeze": Operator(_squeeze, (1,)),
    "Tile": Operator(lambda node, x, repeats: x.repeat(integers(node, repeats)), (1,)),
    "Transpose": Operator(_transpose),
    "Unsqueeze": Operator(_unsqueeze, (1,)),
}
