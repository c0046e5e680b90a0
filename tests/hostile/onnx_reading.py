"""Images that an ONNX file makes from two latents, with Kennel's reader and with onnx's reference evaluator."""

from typing import Any

import numpy as np
import onnx
import torch
from numpy.typing import NDArray
from onnx.reference import ReferenceEvaluator

from scorer.generators.latents import Latent
from scorer.generators.limits import GeneratorLimits
from scorer.generators.onnx.generator import read_generator
from tests.worker.generators.onnx_files import DIMENSION

LATENTS = np.random.default_rng(5).standard_normal((2, DIMENSION)).astype(np.float32)
SIDE = 2


def images_by_reader(content: bytes) -> NDArray[np.generic]:
    """The images from the reader that the sandbox uses."""
    generator = read_generator(content, Latent(DIMENSION), size=SIDE, limits=GeneratorLimits())
    with torch.no_grad():
        images: NDArray[np.generic] = generator.network(torch.from_numpy(LATENTS)).numpy()
    return images


def images_by_reference(content: bytes) -> NDArray[np.generic]:
    """The images from the ONNX project's reference evaluator."""
    model = onnx.ModelProto.FromString(content)
    outputs: Any = ReferenceEvaluator(model).run(None, {"z": LATENTS})
    images: NDArray[np.generic] = outputs[0]
    return images
