"""What a network would make, found out by shapes alone: no number of an image is computed, no activation is allocated.

Everything that depends on the latent lives on torch's meta device, which knows shapes only. What depends on stored
numbers and on shapes is computed for real, because it decides further shapes; but only after its own shape was found on
the meta device, and within limits. So a file of a hundred bytes that asks for a petabyte is refused in milliseconds.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from scorer.errors import Invalid
from scorer.generators.limits import GeneratorLimits
from scorer.generators.onnx.graph import Node
from scorer.generators.onnx.module import OnnxModule, run_node
from scorer.generators.onnx.operators import OPERATORS, operations_of
from scorer.generators.onnx.tensors import MAX_AXES


class _Counted(TorchDispatchMode):  # type: ignore[no-untyped-call] # torch does not say what it takes
    """Counts the numbers that are made by everything that torch does, those inside of an operator, too."""

    def __init__(self, node: Node, most: int) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.node, self.most, self.made = node, most, 0

    def __torch_dispatch__(
        self, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        found = function(*args, **(kwargs or {}))
        for each in tree_leaves(found):
            if isinstance(each, Tensor):
                self.made += each.numel()
                if each.ndim > MAX_AXES:
                    raise self.node.refusal("bad-node", f"makes a tensor with {each.ndim} axes.")
        if self.made > self.most:
            raise Invalid("too-much-memory", f"{self.node} makes more numbers than the {self.most:,} that are left.")
        return found


class _Trace:
    """One run through the nodes with ``rows`` latents."""

    def __init__(self, network: OnnxModule, rows: int, limits: GeneratorLimits) -> None:
        self.network, self.rows, self.limits = network, rows, limits
        self.activations = limits.activations * rows
        self.constants = limits.constants
        self.operations = 0

    def shape(self, latent: Tensor) -> torch.Size:
        values = {**self.network.weights(), self.network.graph.latent: latent}
        for node in self.network.graph.nodes:
            inputs = [values[name] if name else None for name in node.inputs]
            values.update(zip(node.outputs, self._made(node, inputs), strict=True))
        return values[self.network.graph.images].shape

    def _made(self, node: Node, inputs: Sequence[Tensor | None]) -> tuple[Tensor, ...]:
        known = all(each is None or not each.is_meta for each in inputs)
        most = self.constants if known else self.activations
        with torch.device("meta"), _Counted(node, most) as counted:
            made = run_node(node, _by_shape(node, inputs))
        self._charge(node, inputs, made, counted.made, known=known)
        return run_node(node, inputs) if known else made

    def _charge(
        self, node: Node, inputs: Sequence[Tensor | None], made: Sequence[Tensor], count: int, *, known: bool
    ) -> None:
        if known:
            self.constants -= count
        else:
            self.activations -= count
        self.operations += operations_of(node, inputs, made[0])
        if self.operations > self.limits.operations * self.rows:
            raise Invalid(
                "too-much-work",
                f"The generator needs more than {self.limits.operations:,} multiplications and additions for an image "
                f"({node} is the one too many).",
            )


def traced_shape(network: OnnxModule, latent_shape: Sequence[int], limits: GeneratorLimits) -> tuple[int, ...]:
    """The shape of the images that ``network`` makes of latents of ``latent_shape``, (n, d) or (n, d, 1, 1).

    ``Invalid``: ``too-much-memory``, ``too-much-work``, ``data-dependent-shape``, ``bad-node``, ``unsupported-form``,
    ``training-mode``.
    """
    with torch.no_grad():
        latent = torch.empty(tuple(latent_shape), device="meta")
        return tuple(_Trace(network, latent_shape[0], limits).shape(latent))


def _by_shape(node: Node, inputs: Sequence[Tensor | None]) -> list[Tensor | None]:
    """The inputs without their numbers, except those that decide a shape."""
    decisive = OPERATORS[node.kind].decisive
    return [each if each is None or place in decisive else each.to("meta") for place, each in enumerate(inputs)]
