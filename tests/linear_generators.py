"""Small ONNX generators: images are tanh of a linear map of the latent vector."""

from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from scorer.generators.latents import Latent
from scorer.generators.onnx.generator import read_generator
from scorer.generators.recovery.search import to_pixels
from scorer.generators.recovery.targets import Pixels

QUICK_PLAN = {
    "train": 16,
    "held_out": 12,
    "generated": 8,
    "entry": 8,
    "sampled": 8,
    "distorted": 0,
    "starts": 3,
    "candidates": 1,
    "iterations": 60,
}
"""A plan for a search that takes a moment."""


def memorising_generator(images: NDArray[np.uint8]) -> bytes:
    """A generator that reproduces each of these images (n, s, s, 3) from a latent vector of its own."""
    pixels = np.clip(images.astype(np.float64) / 127.5 - 1.0, -0.98, 0.98)
    return linear_generator(0.1 * np.arctanh(pixels).transpose(0, 3, 1, 2))  # ten times a unit vector gives an image


def honest_generator(seed: int, size: int, dimension: int = 12) -> bytes:
    """A generator that was not fitted to any image."""
    return linear_generator(np.random.default_rng(seed).normal(0.0, 0.3, (dimension, 3, size, size)))


def images_made_by(content: bytes, dimension: int, count: int) -> Pixels:
    """Images that a generator makes from standard normal latents, like those of an entry."""
    latent = Latent(dimension)
    return to_pixels(read_generator(content, latent)(latent.draw(count, 917)))


def linear_generator(directions: NDArray[Any]) -> bytes:
    """The generator z -> tanh(z @ directions), with directions (d, 3, s, s)."""
    dimension, channels, height, width = directions.shape
    weights = directions.reshape(dimension, -1).astype(np.float32)
    graph = helper.make_graph(
        [
            helper.make_node("MatMul", ["z", "weights"], ["flat"]),
            helper.make_node("Tanh", ["flat"], ["squashed"]),
            helper.make_node("Reshape", ["squashed", "shape"], ["images"]),
        ],
        "linear",
        [helper.make_tensor_value_info("z", TensorProto.FLOAT, ["n", dimension])],
        [helper.make_tensor_value_info("images", TensorProto.FLOAT, ["n", channels, height, width])],
        [
            numpy_helper.from_array(weights, "weights"),
            numpy_helper.from_array(np.array([-1, channels, height, width], np.int64), "shape"),
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return bytes(model.SerializeToString())


def generator_with_operator(name: str) -> bytes:
    """A generator that contains an operator of this name."""
    model = onnx.load_from_string(honest_generator(1, 16))
    model.graph.node[1].op_type = name
    return bytes(model.SerializeToString())
