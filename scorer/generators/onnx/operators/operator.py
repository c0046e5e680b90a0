"""What an operator is: a function of torch, and which of its inputs it must know the numbers of."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from scorer.generators.onnx.graph import Node

Result = Tensor | tuple[Tensor, ...]


@dataclass(frozen=True)
class Operator:
    """``run(node, *inputs)``, where an optional input that is left out is None; and the inputs (by their place) whose
    numbers decide the shape of the result. Those must not depend on the latent; of the others the shape is enough."""

    run: Callable[..., Result]
    decisive: frozenset[int] = frozenset()


def shape_deciding(run: Callable[..., Result], *places: int) -> Operator:
    """An operator whose inputs at these places decide the shape of what it makes."""
    return Operator(run, frozenset(places))


def plain(run: Callable[..., Result]) -> Operator:
    """The operator of a function that looks at tensors alone."""
    return Operator(lambda _, *inputs: run(*inputs))


def integers(node: Node, given: Tensor) -> tuple[int, ...]:
    """The numbers of a decisive input. ``Invalid`` (``data-dependent-shape``) if they depend on the latent."""
    return tuple(int(each) for each in numbers(node, given))


def numbers(node: Node, given: Tensor) -> tuple[float, ...]:
    """The same for an input of floats."""
    if given.is_meta:
        raise node.refusal(
            "data-dependent-shape",
            "makes a shape that depends on the latent's values; a generator makes images of one shape.",
        )
    if given.numel() > 4096:
        raise node.refusal("bad-node", "takes more numbers for a shape than any shape has.")
    return tuple(given.reshape(-1).tolist())


def axis_of(node: Node, axis: int, rank: int) -> int:
    """The axis, counted from the front; ``bad-node`` if there is no such one."""
    if not -rank <= axis < max(rank, 1):
        raise node.refusal("bad-node", f"speaks of axis {axis} of a tensor with {rank}.")
    return axis % max(rank, 1)


def stored_tensor(given: object) -> Tensor:
    """An array of the file as a tensor, with the memory of its own."""
    return torch.tensor(given, device="cpu")
