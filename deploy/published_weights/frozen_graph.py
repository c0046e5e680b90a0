"""The constants of a frozen TensorFlow graph, read without TensorFlow.

A frozen graph is a serialised ``GraphDef``: its nodes with the operator ``Const`` hold the weights. Field numbers come
from TensorFlow's ``graph.proto``, ``node_def.proto``, ``attr_value.proto`` and ``tensor.proto``.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from google.protobuf import descriptor_pool, message_factory
from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto
from google.protobuf.message import DecodeError
from numpy.typing import NDArray

from scorer.errors import Invalid

_BYTES, _INTEGER, _FLOAT = (getattr(FieldDescriptorProto, f"TYPE_{name}") for name in ("BYTES", "INT64", "FLOAT"))
_MESSAGES: Mapping[str, Mapping[str, tuple[int, int | str]]] = {
    "Graph": {"nodes": (1, "Node")},
    "Node": {"name": (1, _BYTES), "operator": (2, _BYTES), "attributes": (5, "Attribute")},
    "Attribute": {"key": (1, _BYTES), "value": (2, "Value")},
    "Value": {"tensor": (8, "Tensor")},
    "Tensor": {"type": (1, _INTEGER), "shape": (2, "Shape"), "content": (4, _BYTES), "floats": (5, _FLOAT)},
    "Shape": {"dimensions": (2, "Dimension")},
    "Dimension": {"size": (1, _INTEGER)},
}
"""The fields of each message: number and type. Plural names are repeated fields."""
_FLOAT32 = 1


def read_constants(graph: bytes) -> Mapping[str, NDArray[np.float32]]:
    """The float32 constants of a serialised ``GraphDef`` by node name.

    Raises ``Invalid`` (``bad-graph``) if it is not a frozen graph.
    """
    try:
        constants = {
            node.name.decode(): _array(attribute.value.tensor)
            for node in _graph_class().FromString(graph).nodes
            for attribute in node.attributes
            if (node.operator, attribute.key, attribute.value.tensor.type) == (b"Const", b"value", _FLOAT32)
        }
    except (DecodeError, ValueError) as error:
        raise Invalid("bad-graph", "The file is not a frozen TensorFlow graph.") from error
    if not constants:
        raise Invalid("bad-graph", "The file has no constants: it is not a frozen TensorFlow graph.")
    return constants


def _graph_class() -> Any:
    """The class of ``Graph``, with the required fields."""
    file = FileDescriptorProto(name="graph", package="frozen")
    for message, fields in _MESSAGES.items():
        made = file.message_type.add(name=message)
        for name, (number, kind) in fields.items():
            field = made.field.add(name=name, number=number)
            field.label = field.LABEL_REPEATED if name.endswith("s") else field.LABEL_OPTIONAL
            field.type = field.TYPE_MESSAGE if isinstance(kind, str) else kind
            if isinstance(kind, str):
                field.type_name = f".frozen.{kind}"
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(file.SerializeToString())
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("frozen.Graph"))


def _array(tensor: Any) -> NDArray[np.float32]:
    """A ``TensorProto`` of float32 as an array. A single value fills the whole array."""
    shape = tuple(dimension.size for dimension in tensor.shape.dimensions)
    values = np.frombuffer(tensor.content, "<f4") if tensor.content else np.array(tensor.floats, "<f4")
    return np.broadcast_to(values, shape) if len(values) == 1 else values.reshape(shape)
