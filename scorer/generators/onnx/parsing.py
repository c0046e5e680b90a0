"""Parsing of ONNX files: from bytes to a graph of allowed operators and finite arrays.

Nothing is run, inferred or converted, and no library's checker is trusted. The protobuf is unpacked (with the library's
own limit on nesting), and everything unexpected is refused by name. No path in a file is read, so none is followed.
"""

from collections.abc import Callable, Iterable

import onnx
from google.protobuf.message import DecodeError

from scorer.errors import Invalid
from scorer.generators.limits import GeneratorLimits
from scorer.generators.onnx.graph import Array, Attribute, Graph, Node, printable_name, to_text
from scorer.generators.onnx.operators import OPERATORS
from scorer.generators.onnx.tensors import count_values, to_array
from scorer.generators.onnx_files import MAX_OPSET, MIN_OPSET, export_advice, require_onnx

MAX_PARTS_PER_NODE = 10
"""The most inputs, outputs and attributes of a node, on average."""
STANDARD = ("", "ai.onnx")
CONTROL = frozenset({"If", "Loop", "Scan", "SequenceMap"})
RANDOM = frozenset(
    {"Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"}
)


def parse_graph(content: bytes, dimension: int | str | None, limits: GeneratorLimits) -> Graph:
    """The graph of an ONNX file. ``dimension``, that of the latent, is only for advice in messages; None for a network
    that takes images.

    ``Invalid``: ``too-many-bytes``, ``too-many-nodes``, ``too-many-weights``, ``not-onnx``, ``wrong-opset``,
    ``custom-operators``, ``has-functions``, ``control-flow``, ``random-operator``, ``unknown-operator``,
    ``external-data``, ``sparse-tensors``, ``bad-weights``, ``not-finite``, ``bad-node``, ``training-mode``,
    ``wrong-inputs``, ``wrong-outputs``.
    """
    model = _unpacked(content, dimension, limits)
    _refuse_more_than_a_graph(model)
    opset = _opset(model, dimension)
    _refuse_nodes(model.graph, limits)
    tensors = [*model.graph.initializer, *_constants(model.graph.node)]
    stored = sum(count_values(tensor) for tensor in tensors)
    if stored > limits.weights:
        raise Invalid("too-many-weights", f"The generator stores {stored:,} numbers; the limit is {limits.weights:,}.")
    weights = _named(model.graph.initializer)
    latent, shape = _latent(model.graph, weights)
    nodes = tuple(read_node(index, node, opset) for index, node in enumerate(model.graph.node))
    _refuse_disorder(nodes, {latent, *weights})
    metadata = {to_text(entry.key): to_text(entry.value) for entry in model.metadata_props}
    return Graph(nodes, weights, latent, shape, _images(model.graph, nodes), opset, metadata)


def _unpacked(content: bytes, dimension: int | str | None, limits: GeneratorLimits) -> onnx.ModelProto:
    if len(content) > limits.file_bytes:
        raise Invalid(
            "too-many-bytes",
            f"The file has {len(content):,} bytes; the limit for a generator is {limits.file_bytes:,}.",
        )
    require_onnx(content, dimension)
    model = onnx.ModelProto()
    try:
        model.ParseFromString(content)
    except DecodeError:
        raise Invalid("not-onnx", f"This file is damaged, truncated or not ONNX. {export_advice(dimension)}") from None
    if not model.HasField("graph") or not model.graph.node:
        raise Invalid("not-onnx", f"This file contains no network, so it is not ONNX. {export_advice(dimension)}")
    return model


def _refuse_more_than_a_graph(model: onnx.ModelProto) -> None:
    if model.functions:
        raise Invalid(
            "has-functions",
            f"The file defines its own functions ('{printable_name(model.functions[0].name)}'). Export it with the"
            " functions inlined (onnx.inliner.inline_local_functions, or torch.onnx.export with dynamo=False).",
        )
    if model.training_info:
        raise Invalid("training-mode", "The file describes training. Export the generator for inference (.eval()).")
    if model.graph.sparse_initializer:
        raise Invalid("sparse-tensors", "The file has sparse weights. Store them as dense tensors.")


def _opset(model: onnx.ModelProto, dimension: int | str | None) -> int:
    foreign = [entry.domain for entry in model.opset_import if entry.domain not in STANDARD]
    used = {node.domain for node in model.graph.node}
    versions = [entry.version for entry in model.opset_import if entry.domain in STANDARD]
    custom = [domain for domain in foreign if domain in used] + sorted(used - {*STANDARD, *foreign})
    if custom:
        raise Invalid(
            "custom-operators",
            f"The generator needs operators of '{printable_name(custom[0])}'; only standard ONNX operators are "
            f"supported. {export_advice(dimension)}",
        )
    if len(versions) != 1 or not MIN_OPSET <= versions[0] <= MAX_OPSET:
        opsets = " and ".join(str(version) for version in versions[:3]) or "none"
        raise Invalid(
            "wrong-opset",
            f"The file has opset {opsets}; Kennel supports {MIN_OPSET} to {MAX_OPSET}. {export_advice(dimension)}",
        )
    return int(versions[0])


def _refuse_nodes(graph: onnx.GraphProto, limits: GeneratorLimits) -> None:
    if len(graph.node) > limits.nodes:
        raise Invalid("too-many-nodes", f"The generator has {len(graph.node):,} nodes; the limit is {limits.nodes:,}.")
    parts = sum(len(node.input) + len(node.output) + len(node.attribute) for node in graph.node)
    if parts > MAX_PARTS_PER_NODE * limits.nodes:
        raise Invalid(
            "too-many-nodes",
            f"The nodes have {parts:,} inputs, outputs and attributes;"
            f" the limit is {MAX_PARTS_PER_NODE * limits.nodes:,}.",
        )
    for index, node in enumerate(graph.node):
        kinds = {attribute.type for attribute in node.attribute}
        proto = onnx.AttributeProto
        if node.op_type in CONTROL or kinds & {proto.GRAPH, proto.GRAPHS}:
            raise Invalid(
                "control-flow",
                f"Node {index + 1} ({printable_name(node.op_type)}) has branches or loops; a generator must be a single"
                " sequence of operators. Export it by tracing, with Python's ifs and loops unrolled.",
            )
        if node.op_type in RANDOM:
            raise Invalid(
                "random-operator",
                f"Node {index + 1} ({node.op_type}) draws random numbers, but an image must depend on its latent "
                "alone. Take the noise from further latent coordinates, or store it as a weight.",
            )
        if node.op_type not in OPERATORS:
            raise Invalid(
                "unknown-operator",
                f"Node {index + 1} is '{printable_name(node.op_type)}', which Kennel does not support. "
                f"It supports: {', '.join(OPERATORS)}.",
            )
        if kinds & {proto.SPARSE_TENSOR, proto.SPARSE_TENSORS}:
            raise Invalid("sparse-tensors", f"Node {index + 1} ({node.op_type}) has a sparse tensor. Make it dense.")


def _constants(nodes: Iterable[onnx.NodeProto]) -> Iterable[onnx.TensorProto]:
    for node in nodes:
        for attribute in node.attribute:
            if attribute.HasField("t"):
                yield attribute.t
            yield from attribute.tensors


def _named(tensors: Iterable[onnx.TensorProto]) -> dict[str, Array]:
    weights: dict[str, Array] = {}
    for tensor in tensors:
        name = to_text(tensor.name)
        if not name or name in weights:
            raise Invalid(
                "bad-weights", f"Two weights are named '{printable_name(tensor.name)}', or a weight has no name."
            )
        weights[name] = to_array(tensor)
    return weights


def _latent(graph: onnx.GraphProto, weights: dict[str, Array]) -> tuple[str, tuple[int | None, ...]]:
    """The one input that is not a weight, and its declared shape. Files made before 2019 list weights as inputs."""
    inputs = [entry for entry in graph.input if to_text(entry.name) not in weights]
    if len(inputs) != 1 or not inputs[0].name:
        names = ", ".join(f"'{printable_name(entry.name)}'" for entry in inputs[:5]) or "none"
        raise Invalid("wrong-inputs", f"A generator must take one input, the latent (n, d); this one takes {names}.")
    kind = inputs[0].type.tensor_type
    if kind.elem_type not in (onnx.TensorProto.FLOAT, onnx.TensorProto.DOUBLE) or len(kind.shape.dim) not in (2, 4):
        raise Invalid("wrong-inputs", "The latent must be declared as floats of shape (n, d) or (n, d, 1, 1).")
    shape = tuple(axis.dim_value if axis.HasField("dim_value") else None for axis in kind.shape.dim)
    return to_text(inputs[0].name), shape


def _images(graph: onnx.GraphProto, nodes: tuple[Node, ...]) -> str:
    outputs = {name for node in nodes for name in node.outputs}
    if len(graph.output) != 1:
        names = ", ".join(f"'{printable_name(output.name)}'" for output in graph.output[:5]) or "none"
        raise Invalid("wrong-outputs", f"A generator must have one output, the images; this one has {names}.")
    name = to_text(graph.output[0].name)
    if name not in outputs:
        raise Invalid("wrong-outputs", f"No node produces the output '{printable_name(name)}'.")
    return name


def read_node(index: int, node: onnx.NodeProto, opset: int) -> Node:
    """A node with its attributes; ``Invalid`` (``bad-node``, or the errors of arrays) if they cannot be read."""
    attributes = {to_text(attribute.name): _attribute(index, attribute) for attribute in node.attribute}
    inputs, outputs = (tuple(to_text(name) for name in names) for names in (node.input, node.output))
    return Node(index, node.op_type, inputs, outputs, attributes, opset)


_READ: dict[int, Callable[[onnx.AttributeProto], Attribute]] = {
    onnx.AttributeProto.INT: lambda proto: proto.i,
    onnx.AttributeProto.FLOAT: lambda proto: proto.f,
    onnx.AttributeProto.STRING: lambda proto: proto.s.decode("utf-8", "replace"),
    onnx.AttributeProto.INTS: lambda proto: tuple(proto.ints),
    onnx.AttributeProto.FLOATS: lambda proto: tuple(proto.floats),
    onnx.AttributeProto.STRINGS: lambda proto: tuple(text.decode("utf-8", "replace") for text in proto.strings),
    onnx.AttributeProto.TENSOR: lambda proto: to_array(proto.t),
}


def _attribute(index: int, attribute: onnx.AttributeProto) -> Attribute:
    if attribute.type not in _READ or attribute.ref_attr_name:
        raise Invalid("bad-node", f"Node {index + 1} has '{printable_name(attribute.name)}' of an unsupported type.")
    return _READ[attribute.type](attribute)


def _refuse_disorder(nodes: tuple[Node, ...], known: set[str]) -> None:
    """Refuse a graph in which a name is the output of two nodes, or is used before it is an output."""
    for node in nodes:
        for name in filter(None, node.inputs):
            if name not in known:
                raise node.refusal("bad-node", f"takes '{printable_name(name)}', which no earlier node outputs.")
        for name in node.outputs:
            if not name or name in known:
                raise node.refusal("bad-node", "has an output without a name, or with a name that is already used.")
            known.add(name)
