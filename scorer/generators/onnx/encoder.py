"""Networks in uploaded ONNX files that take images: encoders, which map images to the latent points that should
generate them, and image-to-image networks, such as the translators of a CycleGAN or an autoencoder in one file.
"""

from collections.abc import Callable, Collection

from torch import Tensor

from scorer.errors import Invalid
from scorer.generators.latents import Latent
from scorer.generators.limits import DEFAULT_LIMITS, GeneratorLimits
from scorer.generators.onnx.generator import Generator
from scorer.generators.onnx.graph import Graph
from scorer.generators.onnx.module import OnnxModule
from scorer.generators.onnx.parsing import parse_graph
from scorer.generators.onnx.shape_tracing import traced_shape


def read_encoder(
    content: bytes, latent: Latent, *, size: int, limits: GeneratorLimits = DEFAULT_LIMITS
) -> Callable[[Tensor], Tensor]:
    """The encoder in an ONNX file, read under the same rules as a generator: it maps images (n, 3, s, s) float32 in
    [-1, 1] to latents (n, d) float32.

    It must take any number of colour images of ``size`` and return one latent point for each, (n, d) or (n, d, 1, 1).
    Raises the ``Invalid`` errors of :func:`~scorer.generators.onnx.parsing.parse_graph` and
    :func:`~scorer.generators.onnx.shape_tracing.traced_shape`, and ``wrong-encoder`` for other shapes.
    """
    graph = parse_graph(content, latent.dimension, limits)
    shapes = {(latent.dimension,), (latent.dimension, 1, 1)}
    network = _build_network(graph, shapes, f"latents of {latent.dimension} numbers", size=size, limits=limits)

    def encode(images: Tensor) -> Tensor:
        codes: Tensor = network(images)
        return codes.float().flatten(1)

    return encode


def read_image_to_image(content: bytes, *, size: int, limits: GeneratorLimits = DEFAULT_LIMITS) -> Generator:
    """The image-to-image network in an ONNX file, read under the same rules as a generator. The range of its values is
    not known yet.

    It must take any number of colour images of ``size`` in [-1, 1] and return one image of the same size for each.
    Raises the ``Invalid`` errors of :func:`~scorer.generators.onnx.parsing.parse_graph` and
    :func:`~scorer.generators.onnx.shape_tracing.traced_shape`, and ``wrong-encoder`` for other shapes.
    """
    graph = parse_graph(content, None, limits)
    wanted = f"images of 3 x {size} x {size}"
    return Generator(_build_network(graph, {(3, size, size)}, wanted, size=size, limits=limits))


def _build_network(
    graph: Graph, shapes: Collection[tuple[int, ...]], wanted: str, *, size: int, limits: GeneratorLimits
) -> OnnxModule:
    """The network of a graph that maps each image to an array of one of ``shapes``; ``wanted`` names them."""
    _require_image_input(graph, size)
    network = OnnxModule(graph).eval()
    for rows in (2, 3):
        shape = traced_shape(network, (rows, 3, size, size), limits)
        if shape[:1] != (rows,) or shape[1:] not in shapes:
            shape_text = " x ".join(str(side) for side in shape)
            raise Invalid("wrong-encoder", f"The output for {rows} images is {shape_text}, not {rows} {wanted}.")
    return network


def _require_image_input(graph: Graph, size: int) -> None:
    """Raise ``Invalid`` (``wrong-encoder``) unless a network takes any number of colour images of ``size``."""
    declared = graph.latent_shape
    expected = (None, 3, size, size)
    if len(declared) != 4 or any(one not in {None, other} for one, other in zip(declared, expected, strict=True)):
        shape_text = " x ".join("n" if side is None else str(side) for side in declared)
        raise Invalid(
            "wrong-encoder", f"The network takes {shape_text}; it must take images of n x 3 x {size} x {size}."
        )
