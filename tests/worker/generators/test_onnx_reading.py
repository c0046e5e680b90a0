"""Valid generator files, and files that are refused."""

import io
import pickle
import zipfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper
from torch import Tensor, nn

from scorer.errors import Invalid
from scorer.generators.latents import Latent
from scorer.generators.limits import GeneratorLimits
from scorer.generators.onnx.generator import read_generator
from tests.examples import examples
from tests.worker.generators.onnx_files import (
    DIMENSION,
    SIDE,
    Decoder,
    Styled,
    build_model,
    dcgan,
    export_generator,
    linear_model,
    weight,
)

LATENT = Latent(DIMENSION)
LIMITS = GeneratorLimits(constants=10_000, activations=200_000, operations=10_000_000)
NODE = helper.make_node
GOOD = linear_model().SerializeToString()


def catch_refusal(content: bytes | onnx.ModelProto, **reading: object) -> Invalid:
    """The error of reading a file."""
    if isinstance(content, onnx.ModelProto):
        content = content.SerializeToString()
    with pytest.raises(Invalid) as caught:
        read_generator(content, **{"latent": LATENT, "limits": LIMITS} | reading)  # type: ignore[arg-type]
    assert caught.value.message.isprintable()
    assert len(caught.value.message) < 2000
    return caught.value


@pytest.mark.parametrize(
    ("generator", "values"), [(dcgan(), "tanh"), (Styled().eval(), "tanh"), (Decoder().eval(), "sigmoid")]
)
def test_a_generator_makes_the_same_images_and_gradients(generator: nn.Module, values: str) -> None:
    """Images and gradients equal those before the export, in any batch size, and the range of values is detected."""
    loaded = read_generator(export_generator(generator), LATENT, size=SIDE)
    points, again = (LATENT.draw(5, seed=1).requires_grad_() for _ in range(2))
    wanted = generator(points)
    wanted = 2.0 * wanted - 1.0 if values == "sigmoid" else wanted
    assert loaded.values == values
    torch.testing.assert_close(loaded(again), wanted, atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(
        *(torch.autograd.grad(images.square().sum(), z)[0] for images, z in ((loaded(again), again), (wanted, points))),
        atol=1e-3,
        rtol=1e-3,
    )


@pytest.mark.parametrize("opset", [13, 16, 18, 20])
def test_supported_opsets_are_read(opset: int) -> None:
    """The exporter writes every opset in a different way."""
    decoder = Decoder().eval()
    command = f"""torch.onnx.export(generator, (torch.zeros(2, 8),), "generator.onnx", opset_version={opset},
        dynamo=False, dynamic_axes={{"z": {{0: "n"}}}}, input_names=["z"])"""
    loaded = read_generator(export_generator(decoder, command=command), LATENT)
    points = LATENT.draw(3, seed=1)
    torch.testing.assert_close(loaded(points), 2.0 * decoder(points) - 1.0, atol=1e-5, rtol=1e-4)


def test_a_latent_with_two_more_axes_is_read() -> None:
    class Old(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Sequential(*list(dcgan().children())[1:])

        def forward(self, z: Tensor) -> Tensor:
            images: Tensor = self.inner(z)
            return images

    command = """torch.onnx.export(generator.eval(), (torch.zeros(2, 8, 1, 1),), "generator.onnx", opset_version=17,
        dynamo=False, input_names=["z"], dynamic_axes={"z": {0: "n"}})"""
    loaded = read_generator(export_generator(Old(), command=command), LATENT)
    torch.testing.assert_close(loaded(LATENT.draw(3, 1)), dcgan()(LATENT.draw(3, 1)), atol=1e-5, rtol=1e-4)


def test_the_printed_command_makes_a_readable_file() -> None:
    """Uses the command in a refusal, not the function that makes it."""
    message = catch_refusal(linear_model(opset=23)).message
    command = message[message.index("torch.onnx.export") :]
    assert read_generator(export_generator(dcgan(), command=command), LATENT, size=SIDE)(LATENT.draw(2, 0)).shape == (
        2,
        3,
        16,
        16,
    )


def test_the_unchanged_file_is_valid() -> None:
    """The tests below change one thing in this file."""
    assert read_generator(GOOD, LATENT, size=2, limits=LIMITS)(LATENT.draw(3, 0)).shape == (3, 3, 2, 2)


class Payload:
    """An object that writes a file when it is unpickled."""

    def __reduce__(self) -> tuple[Callable[..., object], tuple[object, ...]]:
        return Path.touch, (Path("payload-ran"),)


def zipped(name: str) -> bytes:
    """A zip with a pickle, as ``torch.save`` and ``torch.export.save`` write."""
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as archive:
        archive.writestr(name, pickle.dumps(Payload()))
    return written.getvalue()


@pytest.mark.parametrize(
    "content",
    [
        pickle.dumps(Payload()),
        pickle.dumps(Payload(), protocol=0),
        zipped("archive/data.pkl"),
        zipped("models/model.json"),
        b"",
        b"\x89HDF\r\n\x1a\n",
        b"\xff" * 1000,
        GOOD[: len(GOOD) // 2],
        b"\x08\x07",
        b"\x3a" + b"\xff" * 9 + b"\x01",
    ],
)
def test_files_that_are_not_onnx_are_not_opened(
    content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    refused = catch_refusal(content)
    assert refused.slug == "not-onnx"
    assert "torch.onnx.export" in refused.message
    assert not list(tmp_path.iterdir())


def test_deeply_nested_graphs_are_refused() -> None:
    """A thousand levels of subgraphs exceed the protobuf reader's own limit."""
    graph = b""
    for _ in range(1000):
        graph = field(1, field(5, field(6, graph)))  # node, attribute, graph
    assert catch_refusal(field(7, graph)).slug == "not-onnx"


def field(number: int, content: bytes) -> bytes:
    """A length-delimited field of a protobuf message."""
    size = b""
    left = len(content)
    while left >= 128:
        size = size + bytes([left & 127 | 128])
        left = left >> 7
    return bytes([number << 3 | 2]) + size + bytes([left]) + content


def changed(change: Callable[[onnx.ModelProto], object]) -> onnx.ModelProto:
    """The valid file with a change."""
    model = linear_model()
    change(model)
    return model


def external(tensor: TensorProto) -> None:
    """Make a tensor refer to another file for its values."""
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    entry = tensor.external_data.add()
    entry.key = "location"
    entry.value = "/etc/passwd"


def with_external_constant(model: onnx.ModelProto) -> None:
    constant = NODE("Constant", [], ["other"], value=weight("c", [1.0]))
    external(constant.attribute[0].t)
    model.graph.node.append(constant)


def with_hidden_external(model: onnx.ModelProto) -> None:
    """Add an external tensor in a numeric attribute."""
    attribute = model.graph.node[2].attribute.add()
    attribute.name = "alpha"
    attribute.type = onnx.AttributeProto.INT
    attribute.i = 1
    attribute.t.CopyFrom(weight("c", [1.0]))
    external(attribute.t)


def with_external_list(model: onnx.ModelProto) -> None:
    attribute = model.graph.node[2].attribute.add()
    attribute.name = "values"
    attribute.type = onnx.AttributeProto.TENSORS
    attribute.tensors.append(weight("c", [1.0]))
    external(attribute.tensors[0])


def branching() -> onnx.NodeProto:
    """An If node with a branch."""
    branch = helper.make_graph(
        [NODE("Identity", ["z"], ["b"])], "branch", [], [helper.make_tensor_value_info("b", TensorProto.FLOAT, None)]
    )
    return NODE("If", ["z"], ["other"], then_branch=branch, else_branch=branch)


def with_function(model: onnx.ModelProto) -> None:
    nested = [NODE("Inner", ["a"], ["b"], domain="own")]
    model.functions.append(helper.make_function("own", "Outer", ["a"], ["b"], nested, [helper.make_opsetid("own", 1)]))


def with_graph_attribute(model: onnx.ModelProto) -> None:
    """Add a branch to a node that takes none."""
    model.graph.node[2].attribute.append(branching().attribute[0])


def first_weight(**changes: object) -> Callable[[onnx.ModelProto], None]:
    """A change that sets fields of the matrix."""

    def change(model: onnx.ModelProto) -> None:
        for name, value in changes.items():
            if isinstance(value, list):
                del getattr(model.graph.initializer[0], name)[:]
                getattr(model.graph.initializer[0], name).extend(value)
            else:
                setattr(model.graph.initializer[0], name, value)

    return change


def matrix_with(value: float) -> Callable[[onnx.ModelProto], None]:
    return lambda model: model.graph.initializer[0].CopyFrom(weight("matrix", np.full((DIMENSION, 12), value)))


WRONG: dict[str, tuple[str, Callable[[onnx.ModelProto], object]]] = {
    "weights in another file": ("external-data", lambda model: external(model.graph.initializer[0])),
    "a constant in another file": ("external-data", with_external_constant),
    "hidden weights in another file": ("external-data", with_hidden_external),
    "a list of weights in another file": ("external-data", with_external_list),
    "an unknown operator": ("unknown-operator", lambda model: model.graph.node.append(NODE("Einsum", ["z"], ["o"]))),
    "noise": ("random-operator", lambda model: model.graph.node.append(NODE("RandomNormal", [], ["o"], shape=[1]))),
    "a custom operator": (
        "custom-operators",
        lambda model: model.graph.node.append(NODE("Tanh", ["z"], ["o"], domain="com.microsoft")),
    ),
    "a function": ("has-functions", with_function),
    "a branch": ("control-flow", lambda model: model.graph.node.append(branching())),
    "a loop": ("control-flow", lambda model: model.graph.node.append(NODE("Loop", ["z"], ["o"]))),
    "a scan": ("control-flow", lambda model: model.graph.node.append(NODE("Scan", ["z"], ["o"]))),
    "a branch in Tanh": ("control-flow", with_graph_attribute),
    "training": ("training-mode", lambda model: model.training_info.add()),
    "sparse weights": ("sparse-tensors", lambda model: model.graph.sparse_initializer.add()),
    "no opset": ("wrong-opset", lambda model: model.ClearField("opset_import")),
    "two opsets": ("wrong-opset", lambda model: model.opset_import.append(helper.make_opsetid("ai.onnx", 13))),
    "NaN": ("not-finite", matrix_with(np.nan)),
    "infinity": ("not-finite", matrix_with(np.inf)),
    "half the weights": ("bad-weights", first_weight(raw_data=b"\0" * 12)),
    "huge weights": ("too-many-weights", first_weight(dims=[1 << 40, 1 << 40])),
    "negative axes": ("bad-weights", first_weight(dims=[-8, -12])),
    "many axes": ("bad-weights", first_weight(dims=[1] * 60 + [8, 12])),
    "half precision": ("bad-weights", first_weight(data_type=TensorProto.FLOAT16)),
    "no type": ("bad-weights", first_weight(data_type=0)),
    "an unknown type": ("bad-weights", first_weight(data_type=4711)),
    "two weights with one name": ("bad-weights", lambda m: m.graph.initializer.append(m.graph.initializer[0])),
    "two inputs": ("wrong-inputs", lambda model: model.graph.input.append(helper.make_empty_tensor_value_info("y"))),
    "no input": ("wrong-inputs", lambda model: model.graph.ClearField("input")),
    "no shape": ("wrong-inputs", lambda model: model.graph.input[0].type.Clear()),
    "two outputs": (
        "wrong-outputs",
        lambda model: model.graph.output.append(helper.make_empty_tensor_value_info("raw")),
    ),
    "no output": ("wrong-outputs", lambda model: model.graph.ClearField("output")),
    "an output without a node": ("wrong-outputs", lambda model: setattr(model.graph.output[0], "name", "else")),
    "a cycle": ("bad-node", lambda model: model.graph.node[0].input.__setitem__(0, "raw")),
    "a name defined twice": ("bad-node", lambda model: model.graph.node.append(NODE("Tanh", ["raw"], ["images"]))),
    "a weight defined again": ("bad-node", lambda model: model.graph.node.append(NODE("Tanh", ["raw"], ["matrix"]))),
    "an attribute by reference": (
        "bad-node",
        lambda model: model.graph.node[2].attribute.append(onnx.AttributeProto(name="a", ref_attr_name="b")),
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_every_fault_is_refused_with_its_reason(what: str) -> None:
    slug, change = WRONG[what]
    assert catch_refusal(changed(change)).slug == slug


@pytest.mark.parametrize("opset", [1, 12, 23, 10**6])
def test_an_unsupported_opset_is_refused_with_the_command(opset: int) -> None:
    refused = catch_refusal(linear_model(opset=opset))
    assert (refused.slug, "opset_version=17, dynamo=False" in refused.message) == ("wrong-opset", True)


def test_a_name_from_the_file_cannot_spoil_a_message() -> None:
    """Messages have no escape sequences for terminals, and a limited length."""
    bad = NODE("\x1b[2J" + "x" * 10_000, ["z"], ["o"])
    assert "?[2J" in catch_refusal(changed(lambda model: model.graph.node.append(bad))).message


@pytest.mark.parametrize(
    ("latent", "slug"),
    [
        (("n", 9), "wrong-latent"),
        (("n", DIMENSION, 2, 1), "wrong-latent"),
        ((1, DIMENSION), "fixed-batch"),
        (("n", DIMENSION, 1), "wrong-inputs"),
        (("n",), "wrong-inputs"),
    ],
)
def test_a_latent_other_than_declared_is_refused(latent: tuple[int | str, ...], slug: str) -> None:
    assert catch_refusal(linear_model(latent=latent)).slug == slug


def shaped(*shape: int) -> onnx.ModelProto:
    """The valid file with images of another shape."""
    return changed(lambda model: model.graph.initializer[1].CopyFrom(weight("shape", shape, np.int64)))


@pytest.mark.parametrize(
    ("shape", "slug"),
    [
        ((-1, 2, 2, 3), "wrong-images"),
        ((-1, 12), "wrong-images"),
        ((-1, 12, 1, 1), "wrong-images"),
        ((-1, 3, 4, 1), "wrong-images"),
        ((2, 3, 2, 2), "bad-node"),  # valid for the two latents tried first, not for three
        ((-1, 1, 2, 2), "fixed-batch"),
        ((-1, 5, 2, 2), "bad-node"),
        ((-2, 3, 2, 2), "bad-node"),
        ((-1, -1, 2, 2), "bad-node"),
    ],
)
def test_images_of_another_shape_are_refused(shape: tuple[int, ...], slug: str) -> None:
    assert catch_refusal(shaped(*shape)).slug == slug


def test_images_that_are_too_small_or_too_large_are_refused() -> None:
    assert catch_refusal(GOOD, size=3).slug == "wrong-images"
    assert catch_refusal(GOOD, limits=replace(LIMITS, side=1)).slug == "too-much-memory"


def before_tanh(*nodes: onnx.NodeProto, weights: tuple[TensorProto, ...] = ()) -> onnx.ModelProto:
    """The valid file with nodes that compute ``bomb`` and add it to the images."""

    def change(model: onnx.ModelProto) -> None:
        last = model.graph.node.pop()
        model.graph.node.extend([*nodes, NODE("Add", ["raw", "bomb"], ["sum"])])
        last.input[0] = "sum"
        model.graph.node.append(last)
        model.graph.initializer.extend(weights)

    return changed(change)


HUGE = 1 << 40
SHAPE = weight("huge", [HUGE, HUGE], np.int64)
BOMBS: dict[str, onnx.ModelProto] = {
    "constant of shape": before_tanh(NODE("ConstantOfShape", ["huge"], ["bomb"]), weights=(SHAPE,)),
    "expanded constant": before_tanh(
        NODE("Expand", ["one", "huge"], ["bomb"]), weights=(SHAPE, weight("one", [[1.0]]))
    ),
    "expanded images": before_tanh(
        NODE("Expand", ["raw", "huge"], ["bomb"]), weights=(weight("huge", [10**5, 1, 1, 1, 1], np.int64),)
    ),
    "tiled images": before_tanh(
        NODE("Tile", ["raw", "huge"], ["bomb"]), weights=(weight("huge", [1, 1, 10**6, 10**6], np.int64),)
    ),
    "resized images": before_tanh(
        NODE("Resize", ["raw", "", "", "huge"], ["bomb"]), weights=(weight("huge", [2, 3, 4096, 4096], np.int64),)
    ),
    "images resized without limit": before_tanh(
        NODE("Resize", ["raw", "", "", "huge"], ["bomb"]), weights=(weight("huge", [2, 3, HUGE, HUGE], np.int64),)
    ),
    "padded images": before_tanh(
        NODE("Pad", ["raw", "huge"], ["bomb"]), weights=(weight("huge", [0, 0, 0, 0, 0, 0, 10**9, 10**9], np.int64),)
    ),
    "padding hidden by a stride": before_tanh(
        NODE("Conv", ["raw", "kernel"], ["bomb"], pads=[0, 0, 1, 10**6], strides=[1, 10**6]),
        weights=(weight("kernel", np.ones((3, 3, 2, 2))),),
    ),
    "range": before_tanh(
        NODE("Range", ["zero", "end", "step"], ["bomb"]),
        weights=(weight("zero", 0.0), weight("end", 1e12), weight("step", 1.0)),
    ),
    "outer product": before_tanh(
        NODE("Reshape", ["raw", "column"], ["a"]),
        NODE("Tile", ["a", "times"], ["b"]),
        NODE("Transpose", ["b"], ["c"]),
        NODE("MatMul", ["b", "c"], ["bomb"]),
        weights=(weight("column", [-1, 1], np.int64), weight("times", [500, 1], np.int64)),
    ),
    "constant doubled sixty times": before_tanh(
        *(NODE("Concat", [f"c{i}", f"c{i}"], [f"c{i + 1}" if i < 59 else "bomb"], axis=0) for i in range(60)),
        weights=(weight("c0", [1.0]),),
    ),
}


@pytest.mark.parametrize("what", BOMBS)
def test_memory_is_counted_before_allocation(what: str) -> None:
    """Every bomb would take gigabytes or far more, and is refused because of its shape."""
    assert catch_refusal(BOMBS[what]).slug == "too-much-memory"


def test_work_is_counted_before_it_is_done() -> None:
    square = weight("square", np.full((12, 12), 1 / 12))
    products = [NODE("MatMul", [f"p{i}", "square"], [f"p{i + 1}"]) for i in range(200)]
    bomb = before_tanh(
        NODE("Reshape", ["raw", "row"], ["p0"]),
        *products,
        NODE("Reshape", ["p200", "shape"], ["bomb"]),
        weights=(square, weight("row", [-1, 12], np.int64)),
    )
    assert catch_refusal(bomb, limits=replace(LIMITS, operations=50_000)).slug == "too-many-operations"
    assert read_generator(bomb.SerializeToString(), LATENT, limits=LIMITS)


def test_a_network_of_many_nodes_is_refused() -> None:
    long = before_tanh(*(NODE("Identity", [f"i{i}" if i else "raw"], [f"i{i + 1}"]) for i in range(99)))
    assert catch_refusal(long, limits=replace(LIMITS, nodes=100)).slug == "too-many-nodes"
    wide = before_tanh(NODE("Sum", ["raw"] * 2000, ["bomb"]))
    assert catch_refusal(wide, limits=replace(LIMITS, nodes=100)).slug == "too-many-nodes"
    assert catch_refusal(GOOD, limits=replace(LIMITS, file_bytes=100)).slug == "too-many-bytes"


@pytest.mark.parametrize(
    "nodes",
    [
        (NODE("Cast", ["raw"], ["whole"], to=TensorProto.INT64), NODE("ConstantOfShape", ["whole"], ["bomb"])),
        (NODE("Cast", ["raw"], ["whole"], to=TensorProto.INT64), NODE("Expand", ["raw", "whole"], ["bomb"])),
        (NODE("Resize", ["raw", "", "z"], ["bomb"]),),
    ],
)
def test_a_shape_that_depends_on_the_latent_is_refused(nodes: tuple[onnx.NodeProto, ...]) -> None:
    assert catch_refusal(before_tanh(*nodes)).slug == "data-dependent-shape"


@pytest.mark.parametrize(
    ("node", "slug"),
    [
        (NODE("BatchNormalization", ["raw", *"abcd"], ["bomb"], training_mode=1), "training-mode"),
        (NODE("Dropout", ["raw", "", "a"], ["bomb"]), "training-mode"),
        (NODE("Resize", ["raw", "", "a"], ["bomb"], antialias=1), "unsupported-form"),
        (NODE("Pad", ["raw", "a"], ["bomb"], mode="wrap"), "unsupported-form"),
        (NODE("Tanh", ["raw", "raw"], ["bomb"]), "bad-node"),
        (NODE("Tanh", ["raw"], ["bomb", "more"]), "bad-node"),
        (NODE("Transpose", ["raw"], ["bomb"], perm=[0, 0, 0, 0]), "bad-node"),
        (NODE("Transpose", ["raw"], ["bomb"], perm=1.5), "bad-node"),
        (NODE("Concat", ["raw"], ["bomb"], axis=9), "bad-node"),
        (NODE("Cast", ["raw"], ["bomb"], to=TensorProto.STRING), "bad-node"),
        (NODE("Constant", [], ["bomb"], value_string="x"), "bad-node"),
        (NODE("Conv", ["raw", "a"], ["bomb"]), "bad-node"),
    ],
)
def test_a_node_that_cannot_be_computed_is_refused(node: onnx.NodeProto, slug: str) -> None:
    four = tuple(weight(name, [1.0, 1.0, 1.0]) for name in "abcd")
    assert catch_refusal(before_tanh(node, weights=four)).slug == slug


def ending(*nodes: onnx.NodeProto, weights: tuple[TensorProto, ...] = ()) -> onnx.ModelProto:
    """The valid file with other last nodes than tanh."""

    def change(model: onnx.ModelProto) -> None:
        model.graph.node.pop()
        model.graph.node.extend(nodes)
        model.graph.initializer.extend(weights)

    return changed(change)


def test_images_without_a_gradient_are_refused() -> None:
    rounded = [NODE("Cast", ["raw"], ["whole"], to=TensorProto.INT64), NODE("Cast", ["whole"], ["images"], to=1)]
    assert catch_refusal(ending(*rounded)).slug == "no-gradient"
    assert catch_refusal(ending(NODE("Floor", ["raw"], ["images"]))).slug == "no-gradient"
    silent = ending(NODE("Mul", ["raw", "nothing"], ["images"]), weights=(weight("nothing", [0.0]),))
    assert catch_refusal(silent).slug == "no-gradient"
    undefined = ending(NODE("Log", ["raw"], ["images"]))
    assert catch_refusal(undefined).slug == "not-finite"


def test_images_out_of_range_are_refused() -> None:
    assert catch_refusal(ending(NODE("Identity", ["raw"], ["images"]))).slug == "wrong-range"
    assert catch_refusal(ending(NODE("Exp", ["raw"], ["images"]))).slug == "wrong-range"
    bright = ending(NODE("Sigmoid", ["raw"], ["images"])).SerializeToString()
    assert read_generator(bright, LATENT).values == "sigmoid"


@settings(max_examples=examples(150), deadline=None)
@given(st.data())
def test_a_damaged_file_is_refused_or_read(data: st.DataObject) -> None:
    """Changed bytes give images or ``Invalid``, and no other error."""
    content = bytearray(GOOD)
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(content) - 1))
        if data.draw(st.booleans()):
            content[place] = data.draw(st.integers(0, 255))
        else:
            del content[place : place + data.draw(st.integers(1, 20))]
    with suppress(Invalid):
        generator = read_generator(bytes(content), LATENT, limits=LIMITS)
        assert generator(LATENT.draw(2, 0)).shape[0] == 2


def test_a_file_needs_no_shape_of_its_output() -> None:
    """The reader does not trust shapes in the file, so they may be missing."""
    nodes = [NODE("Gemm", ["z", "m"], ["a"]), NODE("Tanh", ["a"], ["b"]), NODE("Reshape", ["b", "s"], ["images"])]
    stored = [weight("m", np.eye(DIMENSION, 4)), weight("s", [-1, 1, 2, 2], np.int64)]
    model = build_model(nodes, stored)
    assert read_generator(model.SerializeToString(), LATENT)(LATENT.draw(2, 0)).shape == (2, 1, 2, 2)
