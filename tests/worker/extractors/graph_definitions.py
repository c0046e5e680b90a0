"""Writes frozen TensorFlow graphs in protobuf's wire format, to test their reader."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray


def varint(number: int) -> bytes:
    """Encode seven bits per byte, the lowest first."""
    low, rest = number & 0x7F, number >> 7
    return bytes([low | 0x80]) + varint(rest) if rest else bytes([low])


def field(number: int, value: int | bytes) -> bytes:
    """Encode a varint or a message."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def tensor(array: NDArray[np.float32], *, as_content: bool) -> bytes:
    """A ``TensorProto`` with its bytes in one field, or with packed numbers."""
    shape = b"".join(field(2, field(1, size)) for size in array.shape)
    values = np.ascontiguousarray(array, "<f4").tobytes()
    return field(1, 1) + field(2, shape) + field(4 if as_content else 5, values)


def node(name: str, operator: str, **attributes: bytes) -> bytes:
    """A ``NodeDef`` with serialised ``AttrValue``s. Its device is a field that the reader ignores."""
    entries = [field(1, key.encode()) + field(2, value) for key, value in attributes.items()]
    parts = (field(1, name.encode()), field(2, operator.encode()), field(4, b"/cpu:0"), *(field(5, e) for e in entries))
    return b"".join(parts)


def graph_definition(constants: Mapping[str, NDArray[np.float32]]) -> bytes:
    """A ``GraphDef`` with these constants. A node that reads it follows each constant, as in frozen graphs."""
    nodes = [field(1, node("ExpandDims", "Placeholder", dtype=field(6, 1)))]
    for number, (name, array) in enumerate(constants.items()):
        value = field(8, tensor(array, as_content=number % 2 == 0))
        nodes.append(field(1, node(name, "Const", dtype=field(6, 1), value=value)))
        nodes.append(field(1, node(f"{name}/read", "Identity", T=field(6, 1))))
    return b"".join(nodes) + field(4, field(1, 24))  # the version of the format
