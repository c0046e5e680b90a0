"""Arrays stored in an ONNX file, read only if they are in the file itself and have an expected type and size."""

import math

import numpy as np
import onnx

from scorer.errors import Invalid
from scorer.generators.onnx.graph import Array, printable_name

MAX_AXES = 8
_TYPES: dict[int, tuple[str, str]] = {
    onnx.TensorProto.FLOAT: ("<f4", "float_data"),
    onnx.TensorProto.DOUBLE: ("<f8", "double_data"),
    onnx.TensorProto.INT64: ("<i8", "int64_data"),
    onnx.TensorProto.INT32: ("<i4", "int32_data"),
    onnx.TensorProto.BOOL: ("|b1", "int32_data"),
}
"""By ONNX type: the stored format, and the field with the numbers if ``raw_data`` is empty."""


def count_values(tensor: onnx.TensorProto) -> int:
    """The number of numbers that a tensor declares. ``Invalid``: ``external-data`` if any field refers to numbers
    outside the file; ``bad-weights`` for impossible axes."""
    if tensor.data_location == onnx.TensorProto.EXTERNAL or tensor.external_data:
        raise Invalid(
            "external-data",
            f"The weight '{printable_name(tensor.name)}' is in another file. Store all weights in the ONNX file: "
            "export without external data (save_as_external_data=False; with torch.onnx.export, dynamo=False).",
        )
    if tensor.HasField("segment") or len(tensor.dims) > MAX_AXES or any(axis < 0 for axis in tensor.dims):
        raise Invalid("bad-weights", f"The weight '{printable_name(tensor.name)}' has an unreadable shape.")
    return math.prod(tensor.dims)


def to_array(tensor: onnx.TensorProto) -> Array:
    """The array of a tensor that :func:`count_values` accepts, in its own type and shape.

    ``Invalid``: ``bad-weights`` for another type, or a number of bytes that does not fit the shape; ``not-finite``.
    """
    name = printable_name(tensor.name)
    count = count_values(tensor)
    if tensor.data_type not in _TYPES:
        raise Invalid(
            "bad-weights",
            f"The weight '{name}' has the type {_type_name(tensor.data_type)}. Export the generator in float32 "
            "(generator.float()).",
        )
    form, listed = _TYPES[tensor.data_type]
    if tensor.raw_data:
        fits = len(tensor.raw_data) == count * np.dtype(form).itemsize
        array = np.frombuffer(tensor.raw_data, form) if fits else None
    else:
        values = getattr(tensor, listed)
        array = np.array(values, form) if len(values) == count else None
    if array is None:
        raise Invalid("bad-weights", f"The weight '{name}' does not have as many numbers as its shape requires.")
    if not np.isfinite(array).all():
        raise Invalid("not-finite", f"The weight '{name}' has values that are not finite (NaN or infinity).")
    return array.reshape(tuple(tensor.dims)).astype(np.dtype(form).newbyteorder("="))


def _type_name(number: int) -> str:
    names = onnx.TensorProto.DataType
    return names.Name(names.ValueType(number)) if number in names.values() else f"number {number}"
