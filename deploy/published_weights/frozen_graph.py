"""The constants of a frozen TensorFlow graph, read from protobuf's wire format without TensorFlow.

A frozen graph is a serialised ``GraphDef``: nodes, of which those with the operator ``Const`` hold the weights. Field
numbers are those of TensorFlow's ``graph.proto``, ``node_def.proto``, ``attr_value.proto`` and ``tensor.proto``.
"""

import struct
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scorer.errors import Invalid

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_NODE = 1
_NODE_NAME, _NODE_OPERATOR, _NODE_ATTRIBUTES = 1, 2, 5
_MAP_KEY, _MAP_VALUE = 1, 2
_ATTRIBUTE_TENSOR = 8
_TENSOR_TYPE, _TENSOR_SHAPE, _TENSOR_CONTENT, _TENSOR_FLOATS = 1, 2, 4, 5
_SHAPE_DIMENSION, _DIMENSION_SIZE = 2, 1
_FLOAT = 1


class _Field(NamedTuple):
    number: int
    kind: int
    integer: int
    """Of a varint."""
    content: bytes
    """Of anything else."""


def constants_of(graph: bytes) -> Mapping[str, NDArray[np.float32]]:
    """The float32 constants of a serialised ``GraphDef`` by the names of their nodes; others are left out.

    Raises ``Invalid`` (``bad-graph``) for anything else than such a file.
    """
    try:
        nodes = (field.content for field in _fields(graph) if field.number == _NODE)
        constants = {name: value for name, value in map(_constant, nodes) if value is not None}
    except (IndexError, struct.error, ValueError) as error:
        raise Invalid("bad-graph", "The file is not a frozen TensorFlow graph.") from error
    if not constants:
        raise Invalid("bad-graph", "The file has no constants: it is not a frozen TensorFlow graph.")
    return constants


def _constant(node: bytes) -> tuple[str, NDArray[np.float32] | None]:
    """The name of a node, and its value if it is a float32 constant."""
    name, operator, value = "", "", None
    for field in _fields(node):
        if field.number == _NODE_NAME:
            name = field.content.decode()
        elif field.number == _NODE_OPERATOR:
            operator = field.content.decode()
        elif field.number == _NODE_ATTRIBUTES:
            entry = {each.number: each.content for each in _fields(field.content)}
            value = entry.get(_MAP_VALUE) if entry.get(_MAP_KEY) == b"value" else value
    if operator != "Const" or value is None:
        return name, None
    tensors = (field.content for field in _fields(value) if field.number == _ATTRIBUTE_TENSOR)
    return name, next(map(_tensor, tensors), None)


def _tensor(tensor: bytes) -> NDArray[np.float32] | None:
    """A ``TensorProto`` as an array; None unless it is float32. A single value stands for all."""
    shape: tuple[int, ...] = ()
    content = floats = b""
    kind = 0
    for field in _fields(tensor):
        if field.number == _TENSOR_TYPE:
            kind = field.integer
        elif field.number == _TENSOR_SHAPE:
            shape = tuple(_dimensions(field.content))
        elif field.number == _TENSOR_CONTENT:
            content = field.content
        elif field.number == _TENSOR_FLOATS:  # packed, or one after the other
            floats += field.content
    if kind != _FLOAT:
        return None
    values = np.frombuffer(content or floats, "<f4")
    return np.broadcast_to(values, shape) if len(values) == 1 else values.reshape(shape)


def _dimensions(shape: bytes) -> Iterator[int]:
    for field in _fields(shape):
        if field.number == _SHAPE_DIMENSION:
            yield next((each.integer for each in _fields(field.content) if each.number == _DIMENSION_SIZE), 0)


def _fields(message: bytes) -> Iterator[_Field]:
    """The fields of a message in order."""
    place = 0
    while place < len(message):
        tag, place = _varint(message, place)
        number, kind = tag >> 3, tag & 7
        if kind == _VARINT:
            integer, place = _varint(message, place)
            yield _Field(number, kind, integer, b"")
            continue
        size, place = _size(message, place, kind)
        if place + size > len(message):
            raise ValueError("a field is longer than its message")
        yield _Field(number, kind, 0, message[place : place + size])
        place += size


def _size(message: bytes, place: int, kind: int) -> tuple[int, int]:
    """The length of a field's content and where that begins."""
    if kind == _BYTES:
        return _varint(message, place)
    if kind not in (_FIXED32, _FIXED64):
        raise ValueError(f"there is no wire type {kind}")
    return (4 if kind == _FIXED32 else 8), place


def _varint(message: bytes, place: int) -> tuple[int, int]:
    """A number of seven bits a byte, the lowest first, and the place behind it."""
    number = shift = 0
    while True:
        byte = message[place]
        number |= (byte & 0x7F) << shift
        place += 1
        if byte < 0x80:
            return number, place
        shift += 7
