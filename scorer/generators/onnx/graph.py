"""What is left of an ONNX file once nothing of it has to be doubted: nodes in order, and arrays."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scorer.errors import Invalid

Array = NDArray[np.generic]
Attribute = int | float | str | tuple[int, ...] | tuple[float, ...] | tuple[str, ...] | Array
MAX_NAME_LENGTH = 60


def text_of(given: str | bytes) -> str:
    """A string out of a stranger's file. The protobuf reader leaves those that are not UTF-8 as bytes."""
    return given if isinstance(given, str) else given.decode("utf-8", "replace")


def printable_name(given: str | bytes, most: int = MAX_NAME_LENGTH) -> str:
    """A name out of a stranger's file as a message may carry it."""
    name = text_of(given)
    return "".join(letter if letter.isprintable() else "?" for letter in name[:most])


@dataclass(frozen=True, eq=False, slots=True)
class Node:
    """One step: an operator, the names of what it takes ("" for an optional input left out) and of what it makes."""

    index: int
    kind: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Attribute] = field(default_factory=dict)
    opset: int = 0

    def __str__(self) -> str:
        made = printable_name(self.outputs[0]) if self.outputs else "nothing"
        return f"Node {self.index + 1} ({printable_name(self.kind)}, which makes '{made}')"

    def refusal(self, slug: str, message: str) -> Invalid:
        """``Invalid`` with a message that begins with this node."""
        return Invalid(slug, f"{self} {message}")

    def number(self, name: str, default: float) -> float:
        """The attribute ``name``, which is a number; ``bad-node`` if it is anything else."""
        return float(self._of(name, default, (int, float)))

    def integer(self, name: str, default: int) -> int:
        """The attribute ``name``, which is an integer; ``bad-node`` if it is anything else."""
        return int(self._of(name, default, (int,)))

    def text(self, name: str, default: str) -> str:
        """The attribute ``name``, which is a string; ``bad-node`` if it is anything else."""
        return str(self._of(name, default, (str,)))

    def integers(self, name: str) -> tuple[int, ...] | None:
        """The attribute ``name``, a list of integers, None without one; ``bad-node`` if it is anything else."""
        found = self.attributes.get(name)
        if found is None:
            return None
        if not isinstance(found, tuple) or not all(isinstance(each, int) for each in found):
            raise self.refusal("bad-node", f"has '{name}', which should be a list of integers.")
        return tuple(int(each) for each in found)

    def _of(self, name: str, default: Any, kinds: tuple[type, ...]) -> Any:
        found = self.attributes.get(name, default)
        if not isinstance(found, kinds):
            raise self.refusal("bad-node", f"has '{name}', which is of a wrong type.")
        return found


@dataclass(frozen=True, eq=False, slots=True)
class Graph:
    """A network as a list of steps: every input of a node is the latent, a weight, or made before it."""

    nodes: tuple[Node, ...]
    weights: Mapping[str, Array]
    latent: str
    latent_shape: tuple[int | None, ...]
    """None for an axis that the file leaves open."""
    images: str
    opset: int
