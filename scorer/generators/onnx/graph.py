"""The checked content of an ONNX file: a graph of nodes in order of execution, and arrays."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scorer.errors import Invalid

Array = NDArray[np.generic]
Attribute = int | float | str | tuple[int, ...] | tuple[float, ...] | tuple[str, ...] | Array
MAX_NAME_LENGTH = 60


def to_text(value: str | bytes) -> str:
    """A string from an uploaded file. The protobuf reader leaves strings that are not UTF-8 as bytes."""
    return value if isinstance(value, str) else value.decode("utf-8", "replace")


def printable_name(value: str | bytes, max_length: int = MAX_NAME_LENGTH) -> str:
    """A name from an uploaded file, shortened and made printable for messages."""
    name = to_text(value)
    return "".join(letter if letter.isprintable() else "?" for letter in name[:max_length])


@dataclass(frozen=True, eq=False, slots=True)
class Node:
    """One step: an operator, the names of its inputs ("" for a missing optional one) and the names of its outputs."""

    index: int
    kind: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Attribute] = field(default_factory=dict)
    opset: int = 0

    def __str__(self) -> str:
        output = printable_name(self.outputs[0]) if self.outputs else "nothing"
        return f"Node {self.index + 1} ({printable_name(self.kind)}, output '{output}')"

    def refusal(self, slug: str, message: str) -> Invalid:
        """``Invalid`` with a message that starts with the name of this node."""
        return Invalid(slug, f"{self} {message}")

    def number(self, name: str, default: float) -> float:
        """The attribute ``name``, a number; ``bad-node`` for any other type."""
        return float(self._typed_attribute(name, default, (int, float)))

    def integer(self, name: str, default: int) -> int:
        """The attribute ``name``, an integer; ``bad-node`` for any other type."""
        return int(self._typed_attribute(name, default, (int,)))

    def text(self, name: str, default: str) -> str:
        """The attribute ``name``, a string; ``bad-node`` for any other type."""
        return str(self._typed_attribute(name, default, (str,)))

    def integers(self, name: str) -> tuple[int, ...] | None:
        """The attribute ``name``, a list of integers, or None without one; ``bad-node`` for any other type."""
        values = self.attributes.get(name)
        if values is None:
            return None
        if not isinstance(values, tuple) or not all(isinstance(value, int) for value in values):
            raise self.refusal("bad-node", f"has the attribute '{name}', which must be a list of integers.")
        return tuple(int(value) for value in values)

    def _typed_attribute(self, name: str, default: Any, kinds: tuple[type, ...]) -> Any:
        value = self.attributes.get(name, default)
        if not isinstance(value, kinds):
            raise self.refusal("bad-node", f"has the attribute '{name}' with the wrong type.")
        return value


@dataclass(frozen=True, eq=False, slots=True)
class Graph:
    """A network as a list of nodes. Every input of a node is the latent, a weight, or an output of an earlier node."""

    nodes: tuple[Node, ...]
    weights: Mapping[str, Array]
    latent: str
    latent_shape: tuple[int | None, ...]
    """None for an axis that the file leaves open."""
    images: str
    opset: int
    metadata: Mapping[str, str] = field(default_factory=dict)
    """The file's own metadata."""

    def sizes(self) -> dict[str, int]:
        """The opset, and the numbers of nodes and weights, for a provenance."""
        weights = sum(array.size for array in self.weights.values())
        return {"opset": self.opset, "nodes": len(self.nodes), "weights": weights}
