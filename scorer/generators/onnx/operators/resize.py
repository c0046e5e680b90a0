"""The operator ``Resize``: interpolation along one axis after another. Each output is a weighted sum of a few inputs.

    x = position of output i in the input, from the coordinate transformation
    out[i] = sum over taps k of w_k in[k]

nearest has one tap, linear two, cubic four (Keys, with the file's coefficient). Beyond the edge, edge values repeat.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from scorer.generators.onnx.graph import Node
from scorer.generators.onnx.operators.operator import Operator, integers, numbers, resolve_axis

_ROUNDINGS: dict[str, Callable[[float], int]] = {
    "round_prefer_floor": lambda x: math.ceil(x - 0.5),
    "round_prefer_ceil": lambda x: math.floor(x + 0.5),
    "floor": math.floor,
    "ceil": math.ceil,
}
MAX_ROWS = 4096
_PLAIN = (("antialias", 0), ("exclude_outside", 0))


def _resize(
    node: Node, x: Tensor, _: Tensor | None = None, scales: Tensor | None = None, sizes: Tensor | None = None
) -> Tensor:
    _refuse_unread(node)
    axes = [resolve_axis(node, axis, x.ndim) for axis in node.integers("axes") or range(x.ndim)]
    by_size = sizes is not None and sizes.numel() > 0
    if by_size and sizes is not None:
        wanted = integers(node, sizes)
        factors = [to / x.shape[axis] for axis, to in zip(axes, wanted, strict=True)]
    elif scales is not None:
        factors = list(numbers(node, scales))
        wanted = tuple(math.floor(x.shape[axis] * factor) for axis, factor in zip(axes, factors, strict=True))
    else:
        raise node.refusal("bad-node", "has neither a size nor a scale.")
    for axis, factor, to in zip(axes, factors, wanted, strict=True):
        x = x if factor == 1 and to == x.shape[axis] else _along(node, x, axis, factor, to)
    return x


def _refuse_unread(node: Node) -> None:
    unread = [name for name, usual in _PLAIN if node.integer(name, usual) != usual]
    if node.text("keep_aspect_ratio_policy", "stretch") != "stretch":
        unread.append("keep_aspect_ratio_policy")
    if node.text("coordinate_transformation_mode", "half_pixel") == "tf_crop_and_resize":
        unread.append("coordinate_transformation_mode")
    if unread:
        raise node.refusal("unsupported-form", f"resizes with unsupported options: {', '.join(unread)}.")


def _along(node: Node, x: Tensor, axis: int, factor: float, to: int) -> Tensor:
    """``x`` resized to ``to`` rows along an axis."""
    if not 0 < to <= MAX_ROWS:
        raise node.refusal("too-much-memory", f"resizes to {to:,} rows; the limit is {MAX_ROWS:,}.")
    length = x.shape[axis]
    positions = [_position(node, i, factor, length, to) for i in range(to)]
    if node.text("mode", "nearest") == "nearest":
        rounding = _ROUNDINGS[node.text("nearest_mode", "round_prefer_floor")]
        places = [min(max(rounding(position), 0), length - 1) for position in positions]
        times = to // length
        if to == times * length and places == [row // times for row in range(to)]:  # its gradient is much faster
            return x.repeat_interleave(times, axis)
        return x.index_select(axis, torch.tensor(places, dtype=torch.int64, device=x.device))
    weights = torch.from_numpy(_weights(node, positions, length)).to(device=x.device, dtype=x.dtype)
    if axis == x.ndim - 1:
        return x @ weights.T
    return torch.movedim(torch.movedim(x, axis, -1) @ weights.T, -1, axis)


def _weights(node: Node, positions: Sequence[float], length: int) -> NDArray[np.float64]:
    """The weight of every input row in every output row, (t, l). A product with this matrix is faster than sums over
    the few taps, and its gradient is much faster."""
    match node.text("mode", "nearest"):
        case "linear":
            taps = [_linear(position) for position in positions]
        case "cubic":
            taps = [_cubic(position, node.number("cubic_coeff_a", -0.75)) for position in positions]
        case _:
            raise node.refusal("unsupported-form", "resizes with a mode other than nearest, linear or cubic.")
    weights = np.zeros((len(positions), length))
    for row, tap in enumerate(taps):
        for place, weight in tap:
            weights[row, min(max(place, 0), length - 1)] += weight
    return weights


def _position(node: Node, i: int, scale: float, length: int, to: int) -> float:
    match node.text("coordinate_transformation_mode", "half_pixel"):
        case "asymmetric":
            return i / scale
        case "align_corners":
            return i * (length - 1) / (scale * length - 1) if to > 1 else 0.0
        case "half_pixel_symmetric":
            return length / 2 * (1 - to / (scale * length)) + (i + 0.5) / scale - 0.5
        case "half_pixel":
            return (i + 0.5) / scale - 0.5
        case "pytorch_half_pixel":
            return (i + 0.5) / scale - 0.5 if to > 1 else 0.0
    raise node.refusal("unsupported-form", "resizes with a coordinate transformation that Kennel does not support.")


def _linear(x: float) -> list[tuple[int, float]]:
    left = math.floor(x)
    return [(left, 1 - (x - left)), (left + 1, x - left)]


def _cubic(x: float, a: float) -> list[tuple[int, float]]:
    left = math.floor(x)
    t = x - left
    near = [((a + 2) * d - (a + 3)) * d * d + 1 for d in (t, 1 - t)]
    far = [((a * d - 5 * a) * d + 8 * a) * d - 4 * a for d in (1 + t, 2 - t)]
    return [(left - 1, far[0]), (left, near[0]), (left + 1, near[1]), (left + 2, far[1])]


RESIZING: dict[str, Operator] = {"Resize": Operator(_resize, (1, 2, 3))}
