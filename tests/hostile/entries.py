"""Hostile ONNX files as entries of a competition: changed files, and sound networks that misbehave when they run."""

import random
from collections.abc import Callable

import numpy as np
from onnx import helper

from tests.hostile.input import Fate, HostileInput
from tests.hostile.onnx_models import CHANGES
from tests.worker.generators.onnx_files import DIMENSION, build_model, linear_model, weight

SIDE = 8
Build = Callable[[random.Random], bytes]
RESHAPE = helper.make_node("Reshape", ["last", "shape"], ["images"])
SHAPE = weight("shape", [-1, 3, SIDE, SIDE], np.int64)


def _linear(name: str, inputs: int = DIMENSION, outputs: int = 3 * SIDE**2) -> object:
    scale = 0.3 / np.sqrt(inputs)
    return weight(name, scale * np.random.default_rng(0).standard_normal((inputs, outputs)))


def _network(*nodes: object, weights: tuple[object, ...] = ()) -> bytes:
    """A network from z to ``last``, which becomes the images."""
    model = build_model([*nodes, RESHAPE], [SHAPE, *weights])  # type: ignore[list-item]
    content: bytes = model.SerializeToString()
    return content


def _rarely_not_finite(rng: random.Random) -> bytes:
    """The square root of a coordinate that is almost never below its bound."""
    bound = weight("bound", rng.choice([0.0, 1.0, 2.0, 3.0]))
    return _network(
        helper.make_node("MatMul", ["z", "matrix"], ["flat"]),
        helper.make_node("Add", ["flat", "bound"], ["moved"]),
        helper.make_node("Sqrt", ["moved"], ["root"]),
        helper.make_node("Tanh", ["root"], ["last"]),
        weights=(weight("matrix", 3.0 * np.eye(DIMENSION, 3 * SIDE**2)), bound),
    )


def _endless(rng: random.Random) -> bytes:
    """Many convolutions, just within the limit on activations: up to 9 billion per image."""
    channels, layers = 16, rng.choice([20, 29])
    nodes = [
        helper.make_node("MatMul", ["z", "first"], ["flat"]),
        helper.make_node("Reshape", ["flat", "planes"], ["small"]),
        helper.make_node("Resize", ["small", "", "scale"], ["v0"]),
        *(helper.make_node("Conv", [f"v{step}", "filter"], [f"v{step + 1}"], pads=4 * [1]) for step in range(layers)),
        helper.make_node("AveragePool", [f"v{layers}"], ["pooled"], kernel_shape=[32, 32], strides=[32, 32]),
        helper.make_node("Conv", ["pooled", "colours"], ["raw"]),
        helper.make_node("Tanh", ["raw"], ["last"]),
    ]
    random_numbers = np.random.default_rng(0)
    weights = (
        _linear("first", DIMENSION, channels * SIDE**2),
        weight("planes", [-1, channels, SIDE, SIDE], np.int64),
        weight("scale", [1, 1, 32, 32]),
        weight("filter", random_numbers.normal(0.0, 0.1, (channels, channels, 3, 3))),
        weight("colours", random_numbers.normal(0.0, 0.1, (3, channels, 1, 1))),
    )
    return _network(*nodes, weights=weights)


def _much_memory(rng: random.Random) -> bytes:
    """Many large intermediate values, all needed at the end."""
    size = rng.choice([8, 10, 20, 30]) << 20
    return _network(
        helper.make_node("ReduceSum", ["z", "axis"], ["sum"], keepdims=1),
        helper.make_node("Expand", ["sum", "size"], ["wide"]),
        helper.make_node("Tanh", ["wide"], ["large"]),
        helper.make_node("ReduceMean", ["large"], ["mean"], axes=[1], keepdims=1),
        helper.make_node("Mul", ["mean", "row"], ["last"]),
        weights=(
            weight("axis", [1], np.int64),
            weight("size", [1, size], np.int64),
            weight("row", np.full((1, 3 * SIDE**2), 0.5)),
        ),
    )


def _rows_depend(rng: random.Random) -> bytes:
    """Every image depends on the mean of its batch."""
    return _network(
        helper.make_node("ReduceMean", ["z"], ["mean"], axes=[0], keepdims=1),
        helper.make_node(rng.choice(["Add", "Sub"]), ["z", "mean"], ["mixed"]),
        helper.make_node("MatMul", ["mixed", "matrix"], ["flat"]),
        helper.make_node("Tanh", ["flat"], ["last"]),
        weights=(_linear("matrix"),),
    )


def _wrong_range(rng: random.Random) -> bytes:
    factor = weight("factor", rng.choice([3.0, 1e9, 1e38]))
    return _network(
        helper.make_node("MatMul", ["z", "matrix"], ["flat"]),
        helper.make_node("Mul", ["flat", "factor"], ["last"]),
        weights=(weight("matrix", np.random.default_rng(0).standard_normal((DIMENSION, 3 * SIDE**2))), factor),
    )


def _names(rng: random.Random) -> bytes:
    """Names that could break a log, a page or a terminal."""
    name = rng.choice(["\x1b[31m", "<script>alert(1)</script>", "../../etc/passwd", "\u202e", "x" * 100_000, "a\nb"])
    model = linear_model(SIDE)
    model.graph.name = model.producer_name = model.graph.node[0].name = name
    model.graph.node[1].output[0] = model.graph.node[2].input[0] = name
    content: bytes = model.SerializeToString()
    return content


def _metadata(rng: random.Random) -> bytes:
    model = linear_model(SIDE)
    key = rng.choice(["kennel.distribution", "kennel.classes"])
    model.metadata_props.add(key=key, value=rng.choice(["cauchy", "-1", "9" * 50, "", "<b>", "\x00"]))
    content: bytes = model.SerializeToString()
    return content


def _other_size(rng: random.Random) -> bytes:
    content: bytes = linear_model(rng.choice([1, 7, 9, 64])).SerializeToString()
    return content


RUNNING: dict[str, tuple[Build, Fate]] = {
    "entry: rarely not finite": (_rarely_not_finite, Fate.REFUSED),
    "entry: endless": (_endless, Fate.EITHER),
    "entry: much memory": (_much_memory, Fate.EITHER),
    "entry: images depend on each other": (_rows_depend, Fate.REFUSED),
    "entry: wrong range": (_wrong_range, Fate.REFUSED),
    "entry: names": (_names, Fate.EITHER),
    "entry: metadata": (_metadata, Fate.EITHER),
    "entry: other size": (_other_size, Fate.REFUSED),
}
KINDS = (*RUNNING, *CHANGES)


def hostile_entry(seed: int) -> HostileInput:
    """The hostile entry of a seed. All kinds take turns."""
    kind, rng = KINDS[seed % len(KINDS)], random.Random(seed)
    if kind in RUNNING:
        build, fate = RUNNING[kind]
        return HostileInput(kind, build(rng), fate)
    change, fate = CHANGES[kind]
    return HostileInput(kind, change(linear_model(SIDE), rng), fate)
