"""Element-wise operators, with broadcasting."""

from collections.abc import Callable

import onnx
import torch
from torch import Tensor
from torch.nn import functional

from scorer.generators.onnx.graph import Node
from scorer.generators.onnx.operators.operator import Operator, plain

_DTYPES: dict[int, torch.dtype] = {
    onnx.TensorProto.FLOAT: torch.float32,
    onnx.TensorProto.DOUBLE: torch.float64,
    onnx.TensorProto.INT32: torch.int32,
    onnx.TensorProto.INT64: torch.int64,
    onnx.TensorProto.BOOL: torch.bool,
}


def _cast(node: Node, x: Tensor) -> Tensor:
    number = node.integer("to", 0)
    if number not in _DTYPES:
        raise node.refusal("bad-node", "casts to a type other than float32, float64, int32, int64 or bool.")
    return x.to(_DTYPES[number])


def _clip(_: Node, x: Tensor, low: Tensor | None = None, high: Tensor | None = None) -> Tensor:
    if low is not None:
        x = torch.maximum(x, low)
    return x if high is None else torch.minimum(x, high)


def _div(a: Tensor, b: Tensor) -> Tensor:
    return a / b if a.is_floating_point() else torch.div(a, b, rounding_mode="trunc")


def _mod(node: Node, a: Tensor, b: Tensor) -> Tensor:
    return torch.fmod(a, b) if node.integer("fmod", 0) else torch.remainder(a, b)


def _folded(pair: Callable[[Tensor, Tensor], Tensor]) -> Callable[..., Tensor]:
    """Extend a function of two tensors to any number of tensors, folded from the left."""

    def fold(first: Tensor, *others: Tensor) -> Tensor:
        for other in others:
            first = pair(first, other)
        return first

    return fold


def _with_alpha(run: Callable[[Tensor, float], Tensor], default: float) -> Operator:
    return Operator(lambda node, x: run(x, node.number("alpha", default)))


def _selu(node: Node, x: Tensor) -> Tensor:
    alpha, gamma = node.number("alpha", 1.67326319217681884765625), node.number("gamma", 1.05070102214813232421875)
    return gamma * functional.elu(x, alpha)


def _hard_sigmoid(node: Node, x: Tensor) -> Tensor:
    return (node.number("alpha", 0.2) * x + node.number("beta", 0.5)).clamp(0.0, 1.0)


def _thresholded(x: Tensor, alpha: float) -> Tensor:
    return torch.where(x > alpha, x, torch.zeros_like(x))


def _gelu(node: Node, x: Tensor) -> Tensor:
    return functional.gelu(x, approximate=node.text("approximate", "none"))


def _dropout(node: Node, x: Tensor, _: Tensor | None = None, training: Tensor | None = None) -> Tensor:
    if training is not None:
        raise node.refusal("training-mode", "has a training input. Export the generator for inference (.eval()).")
    return x


ELEMENTWISE: dict[str, Operator] = {
    "Abs": plain(torch.abs),
    "Add": plain(torch.add),
    "And": plain(torch.logical_and),
    "Cast": Operator(_cast),
    "Ceil": plain(torch.ceil),
    "Celu": _with_alpha(functional.celu, 1.0),
    "Clip": Operator(_clip),
    "Cos": plain(torch.cos),
    "Div": plain(_div),
    "Dropout": Operator(_dropout),
    "Elu": _with_alpha(functional.elu, 1.0),
    "Equal": plain(torch.eq),
    "Erf": plain(torch.erf),
    "Exp": plain(torch.exp),
    "Floor": plain(torch.floor),
    "Gelu": Operator(_gelu),
    "Greater": plain(torch.gt),
    "GreaterOrEqual": plain(torch.ge),
    "HardSigmoid": Operator(_hard_sigmoid),
    "HardSwish": plain(functional.hardswish),
    "Identity": plain(lambda x: x),
    "LeakyRelu": _with_alpha(functional.leaky_relu, 0.01),
    "Less": plain(torch.lt),
    "LessOrEqual": plain(torch.le),
    "Log": plain(torch.log),
    "Max": plain(_folded(torch.maximum)),
    "Min": plain(_folded(torch.minimum)),
    "Mish": plain(functional.mish),
    "Mod": Operator(_mod),
    "Mul": plain(torch.mul),
    "Neg": plain(torch.neg),
    "Not": plain(torch.logical_not),
    "Or": plain(torch.logical_or),
    "PRelu": plain(lambda x, slope: torch.where(x < 0, x * slope, x)),
    "Pow": plain(lambda a, b: torch.pow(a, b).to(a.dtype)),
    "Reciprocal": plain(torch.reciprocal),
    "Relu": plain(torch.relu),
    "Selu": Operator(_selu),
    "Sigmoid": plain(torch.sigmoid),
    "Sin": plain(torch.sin),
    "Softplus": plain(lambda x: torch.logaddexp(x, torch.zeros_like(x))),
    "Softsign": plain(functional.softsign),
    "Sqrt": plain(torch.sqrt),
    "Sub": plain(torch.sub),
    "Sum": plain(_folded(torch.add)),
    "Tanh": plain(torch.tanh),
    "ThresholdedRelu": _with_alpha(_thresholded, 1.0),
    "Where": plain(torch.where),
}
