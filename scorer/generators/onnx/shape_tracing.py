"""Shape tracing: the output shape and the cost of a network, without computing an image or allocating an activation.

Everything that depends on the latent is on torch's meta device, which only has shapes. Numbers that depend only on
stored numbers and shapes are computed, because they may decide further shapes. They are computed only after their own
shape was traced on the meta device, and within limits. So a file of a hundred bytes that demands a petabyte is refused
in milliseconds.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from typing_extensions import override

from scorer.errors import Invalid
from scorer.generators.limits import GeneratorLimits
from scorer.generators.onnx.graph import Node
from scorer.generators.onnx.module import OnnxModule, run_node
from scorer.generators.onnx.operators import OPERATORS, count_operations
from scorer.generators.onnx.tensors import MAX_AXES


class _NumberCounter(TorchDispatchMode):  # type: ignore[no-untyped-call] # torch does not declare its types
    """Counts the numbers in all tensors, including intermediate ones, that torch creates while a node runs."""

    def __init__(self, node: Node, limit: int) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.node = node
        self.limit = limit
        self.count = 0

    @override
    def __torch_dispatch__(
        self, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        result = function(*args, **(kwargs or {}))
        for leaf in tree_leaves(result):
            if isinstance(leaf, Tensor):
                self.count += leaf.numel()
                if leaf.ndim > MAX_AXES:
                    raise self.node.refusal("bad-node", f"produces a tensor with {leaf.ndim} axes (limit: {MAX_AXES}).")
        if self.count > self.limit:
            raise Invalid("too-much-memory", f"{self.node} produces more than the remaining {self.limit:,} numbers.")
        return result


class _Trace:
    def __init__(self, network: OnnxModule, rows: int, limits: GeneratorLimits) -> None:
        self.network = network
        self.rows = rows
        self.limits = limits
        self.activations = limits.activations * rows
        self.constants = limits.constants
        self.operations = 0

    def shape(self, latent: Tensor) -> torch.Size:
        values = {**self.network.weights(), self.network.graph.latent: latent}
        for node in self.network.graph.nodes:
            inputs = [values[name] if name else None for name in node.inputs]
            values.update(zip(node.outputs, self._outputs(node, inputs), strict=True))
        return values[self.network.graph.images].shape

    def _outputs(self, node: Node, inputs: Sequence[Tensor | None]) -> tuple[Tensor, ...]:
        known = all(tensor is None or not tensor.is_meta for tensor in inputs)
        limit = self.constants if known else self.activations
        with torch.device("meta"), _NumberCounter(node, limit) as counter:
            outputs = run_node(node, _by_shape(node, inputs))
        self._charge(node, inputs, outputs, count=counter.count, known=known)
        return run_node(node, inputs) if known else outputs

    def _charge(
        self, node: Node, inputs: Sequence[Tensor | None], outputs: Sequence[Tensor], *, count: int, known: bool
    ) -> None:
        if known:
            self.constants -= count
        else:
            self.activations -= count
        self.operations += count_operations(node, inputs, outputs[0])
        if self.operations > self.limits.operations * self.rows:
            raise Invalid(
                "too-many-operations",
                f"The generator needs more than {self.limits.operations:,} multiplications and additions per image "
                f"({node} exceeds the limit).",
            )


def traced_shape(network: OnnxModule, latent_shape: Sequence[int], limits: GeneratorLimits) -> tuple[int, ...]:
    """The output shape of ``network`` for an input of ``latent_shape``: (n, d), (n, d, 1, 1), or an encoder's images.

    ``Invalid``: ``too-much-memory``, ``too-many-operations``, ``data-dependent-shape``, ``bad-node``,
    ``unsupported-form``, ``training-mode``.
    """
    with torch.no_grad():
        latent = torch.empty(tuple(latent_shape), device="meta")
        return tuple(_Trace(network, latent_shape[0], limits).shape(latent))


def _by_shape(node: Node, inputs: Sequence[Tensor | None]) -> list[Tensor | None]:
    """The inputs on the meta device, except those with values that decide a shape."""
    decisive = OPERATORS[node.kind].decisive
    return [tensor if tensor is None or place in decisive else tensor.to("meta") for place, tensor in enumerate(inputs)]
