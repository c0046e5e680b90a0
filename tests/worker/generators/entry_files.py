"""Generators of entries as ONNX files: tanh of a linear map, and what they draw."""

import hashlib

import numpy as np
import torch
from onnx import NodeProto, TensorProto, helper

from scorer.generators.drawing import BATCH, Pixels, to_pixels
from scorer.generators.latents import Latent
from scorer.generators.seeds import latents
from tests.worker.generators.onnx_files import DIMENSION, build_model, weight

NODE = helper.make_node
DIGEST, FIXED = (hashlib.sha256(name).digest() for name in (b"a draw", b"the fixed latents"))
LATENT = Latent(DIMENSION)
SIZE = 2
MATRIX = np.random.default_rng(0).standard_normal((DIMENSION, 12)).astype(np.float32) * 0.3


def before_tanh(*nodes: NodeProto, stored: tuple[TensorProto, ...] = (), last: str = "Tanh") -> bytes:
    """A linear generator whose values pass through ``nodes``, from ``flat`` to ``changed``, each (n, 12)."""
    model = build_model(
        [
            NODE("MatMul", ["z", "matrix"], ["flat"]),
            *nodes,
            NODE(last, ["changed"], ["squashed"]),
            NODE("Reshape", ["squashed", "shape"], ["images"]),
        ],
        [weight("matrix", MATRIX), weight("shape", [-1, 3, SIZE, SIZE], np.int64), *stored],
    )
    return bytes(model.SerializeToString())


HONEST = before_tanh(NODE("Identity", ["flat"], ["changed"]))


def by_formula(digest: bytes, count: int) -> Pixels:
    """The images of the honest generator, in batches of 64 latents."""
    points = torch.from_numpy(latents(digest, LATENT, stop=-(-count // BATCH) * BATCH))
    values = [torch.tanh(some @ torch.from_numpy(MATRIX)) for some in torch.split(points, BATCH)]
    return to_pixels(torch.cat(values).reshape(-1, 3, SIZE, SIZE).numpy(), "tanh")[:count]
