"""The canonical SHA-256 of a network: what it leaves out, and what it does not."""

from collections.abc import Callable

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from scorer.generators.limits import DEFAULT_LIMITS
from scorer.generators.onnx.canonical import network_sha256
from scorer.generators.onnx.parsing import parse_graph
from tests.worker.generators.onnx_files import DIMENSION, build_model, dcgan, export_generator, weight

NODE = helper.make_node


def network() -> onnx.ModelProto:
    """A generator with two outputs of a node, an optional input and several attributes."""
    nodes = [
        NODE("MatMul", ["z", "matrix"], ["flat"], name="first"),
        NODE("LeakyRelu", ["flat"], ["active"], alpha=0.25),
        NODE("Split", ["active", "sizes"], ["left", "right"], axis=1),
        NODE("Sub", ["left", "right"], ["difference"]),
        NODE("Clip", ["difference", "", "high"], ["cut"]),
        NODE("Reshape", ["cut", "shape"], ["images"]),
    ]
    stored = [
        weight("matrix", np.random.default_rng(0).standard_normal((DIMENSION, 24))),
        weight("sizes", [12, 12], np.int64),
        weight("high", 0.5),
        weight("shape", [-1, 3, 2, 2], np.int64),
    ]
    return build_model(nodes, stored)


def digest(model: onnx.ModelProto) -> str:
    return network_sha256(parse_graph(model.SerializeToString(), None, DEFAULT_LIMITS))


def changed(change: Callable[[onnx.ModelProto], object]) -> str:
    model = network()
    change(model)
    return digest(model)


def rename(model: onnx.ModelProto) -> None:
    """Give every value and node another name."""
    graph = model.graph
    graph.name = "other"
    for part in (*graph.input, *graph.output, *graph.initializer, *graph.node):
        part.name = f"{part.name} renamed"
    for node in graph.node:
        for names in (node.input, node.output):
            names[:] = [f"{name} renamed" if name else "" for name in names]


def describe(model: onnx.ModelProto) -> None:
    model.producer_name = "somebody"
    model.doc_string = model.graph.doc_string = model.graph.node[0].doc_string = "A text."
    model.ir_version = 9
    helper.set_model_props(model, {"kennel.distribution": "uniform"})


def add_unused(model: onnx.ModelProto) -> None:
    model.graph.initializer.append(weight("unused", np.ones(50)))
    model.graph.node.append(NODE("Tanh", ["flat"], ["dead"]))


def reorder(model: onnx.ModelProto) -> None:
    stored = list(model.graph.initializer)[::-1]
    del model.graph.initializer[:]
    model.graph.initializer.extend(stored)
    model.graph.input.extend(helper.make_tensor_value_info(one.name, one.data_type, one.dims) for one in stored)


def store_as_constant(model: onnx.ModelProto) -> None:
    matrix, sizes, *others = model.graph.initializer
    nodes = [
        NODE("Constant", [], ["matrix"], value=matrix),
        NODE("Constant", [], ["sizes"], value_ints=list(numpy_helper.to_array(sizes))),
        *model.graph.node,
    ]
    del model.graph.initializer[:], model.graph.node[:]
    model.graph.initializer.extend(others)
    model.graph.node.extend(nodes)


def store_as_list(model: onnx.ModelProto) -> None:
    matrix = model.graph.initializer[0]
    numbers = numpy_helper.to_array(matrix).ravel().tolist()
    model.graph.initializer[0].CopyFrom(helper.make_tensor("matrix", TensorProto.FLOAT, matrix.dims, numbers))


@pytest.mark.parametrize(
    "change",
    [
        rename,
        describe,
        add_unused,
        reorder,
        store_as_constant,
        store_as_list,
        lambda model: setattr(model.opset_import[0], "domain", "ai.onnx"),
        lambda model: model.graph.node[1].input.append(""),
    ],
)
def test_what_does_not_change_the_images_keeps_the_digest(change: Callable[[onnx.ModelProto], object]) -> None:
    assert changed(change) == digest(network())


def change_last_bit(model: onnx.ModelProto) -> None:
    matrix = model.graph.initializer[0]
    content = bytearray(matrix.raw_data)
    content[-4] ^= 1
    matrix.raw_data = bytes(content)


def set_input(node: int, place: int, name: str) -> Callable[[onnx.ModelProto], object]:
    return lambda model: model.graph.node[node].input.__setitem__(place, name)


CHANGES: dict[str, Callable[[onnx.ModelProto], object]] = {
    "bit": change_last_bit,
    "attribute": lambda model: setattr(model.graph.node[1].attribute[0], "f", 0.26),
    "integer": lambda model: setattr(model.graph.node[2].attribute[0], "i", -1),
    "no attribute": lambda model: model.graph.node[1].ClearField("attribute"),
    "operator": lambda model: setattr(model.graph.node[3], "op_type", "Add"),
    "order of inputs": lambda model: model.graph.node[3].input.__setitem__(slice(0, 2), ["right", "left"]),
    "other output": set_input(3, 1, "left"),
    "optional input": lambda model: model.graph.node[4].input.__setitem__(slice(0, 3), ["difference", "high", ""]),
    "shape of a weight": lambda model: model.graph.initializer[2].dims.append(1),
    "weight": lambda model: model.graph.initializer[2].CopyFrom(weight("high", 0.75)),
    "opset": lambda model: setattr(model.opset_import[0], "version", 18),
}


def test_every_change_of_the_computation_gives_another_digest() -> None:
    digests = {name: changed(change) for name, change in CHANGES.items()} | {"": digest(network())}
    assert len(set(digests.values())) == len(digests), digests
    assert all(len(one) == 64 for one in digests.values())


def test_two_exports_of_a_module_are_the_same_network() -> None:
    first, second = (onnx.load_from_string(export_generator(dcgan())) for _ in range(2))
    rename(second)
    assert digest(first) == digest(second)
    del second.graph.node[-1]
    second.graph.output[0].name = second.graph.node[-1].output[0]
    assert digest(first) != digest(second)
