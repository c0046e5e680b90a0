"""The canonical SHA-256 of a network, by which two files are the same generator.

Every value is named by a hash of how it is computed: a weight by its numbers, an output by its operator, attributes and
inputs. So names, metadata, padding, the order of nodes and whatever does not reach the images are left out. A changed
bit of a weight, an attribute or an operator gives another hash, as does an equivalent network in another form.
"""

import hashlib

import numpy as np

from scorer.generators.onnx.graph import Array, Attribute, Graph, Node
from scorer.generators.onnx.module import run_node

_LENGTH_BYTES = 8


def network_sha256(graph: Graph) -> str:
    """64 hexadecimal digits. ``Invalid`` (``bad-node``) for a constant without a readable value."""
    hashes = {name: _hash(_encode(array)) for name, array in graph.weights.items()}
    hashes[graph.latent] = _hash(b"latent", _encode(len(graph.latent_shape)))
    for node in graph.nodes:
        hashes.update(zip(node.outputs, _output_hashes(node, hashes), strict=True))
    return _hash(b"network", _encode(graph.opset), hashes[graph.images]).hex()


def _output_hashes(node: Node, known: dict[str, bytes]) -> list[bytes]:
    if node.kind == "Constant":
        return [_hash(_encode(constant.numpy())) for constant in run_node(node, [])]
    inputs = [known[name] if name else b"" for name in node.inputs]
    while inputs and not inputs[-1]:
        inputs.pop()
    attributes = [_encode(part) for name, value in sorted(node.attributes.items()) for part in (name, value)]
    counts = (len(node.outputs), len(attributes), len(inputs))
    own = _hash(b"node", _encode(node.kind), _encode(counts), *attributes, *inputs)
    return [_hash(own, _encode(place)) for place in range(len(node.outputs))]


def _encode(value: Attribute | Array) -> bytes:
    """Bytes that differ for values of another type, shape or content."""
    if isinstance(value, np.ndarray):
        little = value.astype(value.dtype.newbyteorder("<"))
        return f"{little.dtype.str} {little.shape}\n".encode() + little.tobytes()
    return repr(value).encode()


def _hash(*parts: bytes) -> bytes:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(_LENGTH_BYTES, "big"))
        digest.update(part)
    return digest.digest()
