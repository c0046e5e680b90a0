"""The type of an operator: a function of torch tensors, and the inputs with values that decide the output's shape."""

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor

from scorer.generators.onnx.graph import Node

Result = Tensor | tuple[Tensor, ...]


@dataclass(frozen=True)
class Operator:
    """``run(node, *inputs)``, where a missing optional input is None.

    ``decisive`` has the positions of the inputs with values that decide the output's shape. These must not depend on
    the latent; of the other inputs, the shapes are enough.
    """

    run: Callable[..., Result]
    decisive: tuple[int, ...] = ()


def plain(run: Callable[..., Result]) -> Operator:
    """The operator of a function that needs no attributes of the node."""
    return Operator(lambda _, *inputs: run(*inputs))


def integers(node: Node, tensor: Tensor) -> tuple[int, ...]:
    """The integers in a decisive input; ``Invalid`` (``data-dependent-shape``) if they depend on the latent."""
    return tuple(int(number) for number in numbers(node, tensor))


def numbers(node: Node, tensor: Tensor) -> tuple[float, ...]:
    """The floats in a decisive input; the errors of :func:`integers`."""
    if tensor.is_meta:
        raise node.refusal(
            "data-dependent-shape",
            "produces a shape that depends on the latent's values; all images must have the same shape.",
        )
    if tensor.numel() > 4096:
        raise node.refusal("bad-node", f"has {tensor.numel():,} numbers for a shape; the limit is 4,096.")
    return tuple(tensor.reshape(-1).tolist())


def resolve_axis(node: Node, axis: int, rank: int) -> int:
    """The axis counted from the front; ``bad-node`` if it does not exist."""
    if not -rank <= axis < max(rank, 1):
        raise node.refusal("bad-node", f"uses axis {axis} of a tensor with {rank} axes.")
    return axis % max(rank, 1)
