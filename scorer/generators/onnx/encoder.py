"""Networks of images in uploaded ONNX files: encoders, from images to the latent points that should make them, and
image-to-image networks, such as the translators of a CycleGAN or an autoencoder in one file.
"""

from collections.abc import Callable, Collection

from torch import Tensor

from scorer.errors import Invalid
from scorer.generators.latents import Latent
from scorer.generators.limits import DEFAULT_LIMITS, GeneratorLimits
from scorer.generators.onnx.generator import Generator
from scorer.generators.onnx.graph import Graph
from scorer.generators.onnx.module import OnnxModule
from scorer.generators.onnx.parsing import graph_of
from scorer.generators.onnx.shape_tracing import traced_shape


def read_encoder(
    content: bytes, latent: Latent, *, size: int, limits: GeneratorLimits = DEFAULT_LIMITS
) -> Callable[[Tensor], Tensor]:
    """The encoder in an ONNX file, read under the same rules as a generator: images (n, 3, s, s) float32 in [-1, 1] to
    latents (n, d) float32.

    It takes any number of colour images of ``size`` in [-1, 1] and returns one latent point for each, (n, d) or
    (n, d, 1, 1). Raises ``Invalid`` as :func:`~scorer.generators.onnx.parsing.graph_of` and
    :func:`~scorer.generators.onnx.shape_tracing.traced_shape` do, and ``wrong-encoder`` for other shapes.
    """
    graph = graph_of(content, latent.dimension, limits)
    shapes = {(latent.dimension,), (latent.dimension, 1, 1)}
    network = _network_of(graph, shapes, f"latents of {latent.dimension} numbers", size=size, limits=limits)

    def encode(images: Tensor) -> Tensor:
        codes: Tensor = network(images)
        return codes.float().flatten(1)

    return encode


def read_image_to_image(content: bytes, *, size: int, limits: GeneratorLimits = DEFAULT_LIMITS) -> Generator:
    """The image-to-image network in an ONNX file, read under the same rules as a generator; the range of its values is
    not known yet.

    It takes any number of colour images of ``size`` in [-1, 1] and makes one of each, of the same size. Raises
    ``Invalid`` as :func:`~scorer.generators.onnx.parsing.graph_of` and
    :func:`~scorer.generators.onnx.shape_tracing.traced_shape` do, and ``wrong-encoder`` for other shapes.
    """
    graph = graph_of(content, None, limits)
    wanted = f"images of 3 x {size} x {size}"
    return Generator(_network_of(graph, {(3, size, size)}, wanted, size=size, limits=limits))


def _network_of(
    graph: Graph, shapes: Collection[tuple[int, ...]], wanted: str, *, size: int, limits: GeneratorLimits
) -> OnnxModule:
    """The network of a graph that makes an array of one of these ``shapes`` of each image; ``wanted`` names them."""
    _require_image_input(graph, size)
    network = OnnxModule(graph).eval()
    for rows in (2, 3):
        shape = traced_shape(network, (rows, 3, size, size), limits)
        if shape[:1] != (rows,) or shape[1:] not in shapes:
            shape_text = " x ".join(str(side) for side in shape)
            raise Invalid("wrong-encoder", f"{rows} images become {shape_text}; wanted are {rows} {wanted}.")
    return network


def _require_image_input(graph: Graph, size: int) -> None:
    """``Invalid`` (``wrong-encoder``) unless a network takes any number of colour images of ``size``."""
    declared = graph.latent_shape
    expected = (None, 3, size, size)
    if len(declared) != 4 or any(one not in {None, other} for one, other in zip(declared, expected, strict=True)):
        shape_text = " x ".join("n" if side is None else str(side) for side in declared)
        raise Invalid("wrong-encoder", f"The network takes {shape_text}, and should images of n x 3 x {size} x {size}.")
