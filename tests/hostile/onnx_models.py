"""Hostile ONNX files: a small linear generator with one change."""

import pickle
import random
import zipfile
from collections.abc import Callable
from io import BytesIO

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tests.hostile.input import Fate, HostileInput
from tests.worker.generators.onnx_files import DIMENSION, build_model, linear_model, weight

Change = Callable[[onnx.ModelProto, random.Random], bytes]


def _bytes(model: onnx.ModelProto) -> bytes:
    content: bytes = model.SerializeToString()
    return content


def _damaged(model: onnx.ModelProto, rng: random.Random) -> bytes:
    content = bytearray(_bytes(model))
    for _ in range(rng.randint(1, 10)):
        content[rng.randrange(len(content))] = rng.randrange(256)
    return bytes(content)


def _external(model: onnx.ModelProto, rng: random.Random) -> bytes:
    tensor = model.graph.initializer[0]
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value=rng.choice(["/etc/passwd", "../secrets.json", "x", ""]))
    return _bytes(model)


def _other_domain(model: onnx.ModelProto, rng: random.Random) -> bytes:
    model.graph.node[0].domain = rng.choice(["com.example", "ai.onnx.ml", "com.microsoft"])
    return _bytes(model)


def _unknown_operator(model: onnx.ModelProto, rng: random.Random) -> bytes:
    model.graph.node[rng.randrange(3)].op_type = rng.choice(
        ["PyOp", "Loop", "If", "Scan", "StringNormalizer", "", "x" * 9999]
    )
    return _bytes(model)


def _subgraph(model: onnx.ModelProto, rng: random.Random) -> bytes:
    inner = helper.make_graph([], "inner", [], [])
    for _ in range(rng.randint(1, 25)):
        inner = (
            helper.make_graph(
                [helper.make_node("If", ["c"], ["o"], then_branch=inner, else_branch=inner)][:1], "g", [], []
            )
            if rng.random() < 0.1
            else helper.make_graph([helper.make_node("Loop", ["c"], ["o"], body=inner)], "g", [], [])
        )
    model.graph.node.append(helper.make_node("Loop", ["z"], ["o"], body=inner))
    return _bytes(model)


def _lying_shape(model: onnx.ModelProto, rng: random.Random) -> bytes:
    tensor = model.graph.initializer[0]
    del tensor.dims[:]
    tensor.dims.extend(
        rng.choice([[2**31, 2**31], [-1, 12], [0], [DIMENSION, 12, 0], [2**62], [12, DIMENSION, 2], [1] * 900])
    )
    return _bytes(model)


def _not_finite(model: onnx.ModelProto, rng: random.Random) -> bytes:
    values = numpy_helper.to_array(model.graph.initializer[0]).copy()
    values[rng.randrange(len(values)), rng.randrange(values.shape[1])] = rng.choice([np.nan, np.inf, -np.inf])
    model.graph.initializer[0].CopyFrom(weight("matrix", values))
    return _bytes(model)


def _huge(_: onnx.ModelProto, rng: random.Random) -> bytes:
    """A few bytes that request tera- and petabytes."""
    by = float(rng.choice([10**4, 10**6, 10**9, float("inf"), float("nan")]))
    nodes = [
        helper.make_node("MatMul", ["z", "matrix"], ["flat"]),
        helper.make_node("Reshape", ["flat", "shape"], ["raw"]),
        helper.make_node("Resize", ["raw", "", "by"], ["large"]),
        helper.make_node("Tanh", ["large"], ["images"]),
    ]
    stored = [
        weight("matrix", np.ones((DIMENSION, 12))),
        weight("shape", [-1, 3, 2, 2], np.int64),
        weight("by", [1, 1, by, by]),
    ]
    return _bytes(build_model(nodes, stored))


def _constant_bomb(_: onnx.ModelProto, rng: random.Random) -> bytes:
    nodes = [
        helper.make_node("ConstantOfShape", ["size"], ["ones"]),
        helper.make_node("MatMul", ["z", "ones"], ["flat"]),
        helper.make_node("Tanh", ["flat"], ["images"]),
    ]
    size = rng.choice([[DIMENSION, 10**9], [10**6, 10**6], [-5, 3], [2**62, 4]])
    return _bytes(build_model(nodes, [weight("size", size, np.int64)]))


def _cycle(model: onnx.ModelProto, rng: random.Random) -> bytes:
    model.graph.node[0].input[0] = rng.choice(["images", "flat", "raw", "nothing", ""])
    return _bytes(model)


def _same_names(model: onnx.ModelProto, rng: random.Random) -> bytes:
    model.graph.node[1].output[0] = rng.choice(["z", "flat", "matrix", "images"])
    return _bytes(model)


def _many_nodes(model: onnx.ModelProto, rng: random.Random) -> bytes:
    last = "images"
    for index in range(rng.choice([5_001, 6_000])):
        model.graph.node.append(helper.make_node("Tanh", [last], [f"t{index}"]))
        last = f"t{index}"
    model.graph.output[0].name = last
    return _bytes(model)


def _functions(model: onnx.ModelProto, _: random.Random) -> bytes:
    model.functions.add(name="Tanh", domain="")
    return _bytes(model)


def _other_opset(model: onnx.ModelProto, rng: random.Random) -> bytes:
    model.opset_import[0].version = rng.choice([-1, 0, 1, 12, 23, 2**31, 2**62])
    return _bytes(model)


def _other_type(model: onnx.ModelProto, rng: random.Random) -> bytes:
    model.graph.initializer[0].data_type = rng.choice([0, 2, 3, 8, 10, 14, 16, 17, 99, 2**31 - 1])
    return _bytes(model)


def _other_attributes(model: onnx.ModelProto, rng: random.Random) -> bytes:
    node = model.graph.node[rng.randrange(3)]
    values = [rng.randint(-(2**62), 2**62), rng.random(), b"\xff" * 100, [1] * 5000, "x"]
    node.attribute.append(helper.make_attribute(rng.choice(["allowzero", "axis", "alpha", "evil"]), rng.choice(values)))
    return _bytes(model)


def _pickle(_: onnx.ModelProto, rng: random.Random) -> bytes:
    archive = BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("archive/data.pkl", pickle.dumps({"a": 1}))
    return rng.choice([pickle.dumps(["a", "pickle"]), archive.getvalue()])


def _noise(_: onnx.ModelProto, rng: random.Random) -> bytes:
    return rng.randbytes(rng.randint(0, 5000))


def _nested_bytes(_: onnx.ModelProto, rng: random.Random) -> bytes:
    """Deeply nested messages, which exhaust a recursive parser."""
    content = b""
    for _level in range(rng.choice([90, 500, 3000])):
        content = b"\x3a" + _length(len(content)) + content
    return content


def _length(value: int) -> bytes:
    """A protobuf varint."""
    parts = []
    while True:
        parts.append((value & 0x7F) | (0x80 if value > 0x7F else 0))
        value >>= 7
        if not value:
            return bytes(parts)


CHANGES: dict[str, tuple[Change, Fate]] = {
    "onnx: unchanged": (lambda model, _: _bytes(model), Fate.ACCEPTED),
    "onnx: bytes changed": (_damaged, Fate.EITHER),
    "onnx: cut short": (lambda model, rng: _bytes(model)[: rng.randrange(len(_bytes(model)) - 1)], Fate.EITHER),
    "onnx: data in another file": (_external, Fate.REFUSED),
    "onnx: operator of another domain": (_other_domain, Fate.REFUSED),
    "onnx: unknown operator": (_unknown_operator, Fate.REFUSED),
    "onnx: graphs within graphs": (_subgraph, Fate.REFUSED),
    "onnx: false shape": (_lying_shape, Fate.REFUSED),
    "onnx: weights that are not finite": (_not_finite, Fate.REFUSED),
    "onnx: huge images": (_huge, Fate.REFUSED),
    "onnx: huge constants": (_constant_bomb, Fate.REFUSED),
    "onnx: cycle": (_cycle, Fate.REFUSED),
    "onnx: same names": (_same_names, Fate.REFUSED),
    "onnx: many nodes": (_many_nodes, Fate.REFUSED),
    "onnx: functions": (_functions, Fate.REFUSED),
    "onnx: other opset": (_other_opset, Fate.REFUSED),
    "onnx: other type": (_other_type, Fate.REFUSED),
    "onnx: other attributes": (_other_attributes, Fate.EITHER),
    "onnx: pickle": (_pickle, Fate.REFUSED),
    "onnx: noise": (_noise, Fate.REFUSED),
    "onnx: messages within messages": (_nested_bytes, Fate.REFUSED),
}
"""By kind: the change to the model, and the required outcome."""


def hostile_onnx(seed: int, kind: str | None = None) -> HostileInput:
    """The hostile ONNX file of a seed, with a random or the given ``kind``.

    onnx's reference evaluator decides which images an accepted file must make.
    """
    rng = random.Random(seed)
    kind = kind or rng.choice(list(CHANGES))
    change, fate = CHANGES[kind]
    truth = _bytes(linear_model()) if kind == "onnx: other attributes" else None  # readers ignore unknown attributes
    return HostileInput(kind, change(linear_model(), rng), fate, truth)
