"""A graph as a torch module, which runs the nodes one after another, each with the operator of its name."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from scorer.generators.onnx.graph import Graph, Node, printable_name
from scorer.generators.onnx.operators import OPERATORS

UNFIT = (RuntimeError, TypeError, ValueError, IndexError, AttributeError, OverflowError, ZeroDivisionError, KeyError)
"""The errors of torch and of Kennel's operators for inputs that do not fit."""


class OnnxModule(nn.Module):
    """A graph that can be run. Its weights are buffers, because nothing is trained."""

    def __init__(self, graph: Graph) -> None:
        super().__init__()
        self.graph = graph
        self._buffer_names = {name: f"weight_{place}" for place, name in enumerate(graph.weights)}
        for name, array in graph.weights.items():
            self.register_buffer(self._buffer_names[name], torch.from_numpy(array.copy()))
        self._last_uses = _last_uses(graph)

    def store_columns(self) -> None:
        """Store the matrices of products column by column, which is faster without gradients."""
        for node in self.graph.nodes:
            name = self._buffer_names.get(node.inputs[1]) if node.kind == "MatMul" else None
            if name is not None and self.get_buffer(name).ndim == 2:
                self.register_buffer(name, self.get_buffer(name).T.contiguous().T)

    def weights(self) -> dict[str, Tensor]:
        return {name: self.get_buffer(buffer) for name, buffer in self._buffer_names.items()}

    def forward(self, latent: Tensor) -> Tensor:
        """The output for latents, both in the file's shapes; ``Invalid`` (``bad-node``) if they do not fit."""
        values = {**self.weights(), self.graph.latent: latent}
        for node, unneeded in zip(self.graph.nodes, self._last_uses, strict=True):
            outputs = run_node(node, [values[name] if name else None for name in node.inputs])
            values.update(zip(node.outputs, outputs, strict=True))
            for name in unneeded:
                del values[name]
        return values[self.graph.images]


def run_node(node: Node, inputs: Sequence[Tensor | None]) -> tuple[Tensor, ...]:
    """The outputs that a node names; ``Invalid`` (``bad-node``) if its inputs do not fit."""
    try:
        result = OPERATORS[node.kind].run(node, *inputs)
    except UNFIT as error:
        if isinstance(error, RuntimeError) and "allocate memory" in str(error):
            raise MemoryError from error
        reason = printable_name(str(error).partition("\n")[0], 200)
        if "overflow" in reason:
            raise node.refusal("too-much-memory", "produces more numbers than can be counted.") from None
        raise node.refusal("bad-node", f"cannot be computed because its inputs do not match: {reason}") from None
    outputs = result if isinstance(result, tuple) else (result,)
    if len(outputs) != len(node.outputs):
        raise node.refusal("bad-node", f"declares {len(node.outputs)} outputs but produces {len(outputs)}.")
    return outputs


def _last_uses(graph: Graph) -> tuple[tuple[str, ...], ...]:
    """For each node, the names that no later node needs and that can be freed."""
    last: dict[str, int] = {}
    for node in graph.nodes:
        for name in filter(None, (*node.inputs, *node.outputs)):
            last[name] = node.index
    unneeded: list[list[str]] = [[] for _ in graph.nodes]
    for name, index in last.items():
        if name != graph.images:
            unneeded[index].append(name)
    return tuple(tuple(names) for names in unneeded)
