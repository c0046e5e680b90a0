"""Networks of images in uploaded ONNX files: encoders, from images to the latent points that should make them, and
image-to-image networks, such as the translators of a CycleGAN or an autoencoder in one file.
"""

from torch import Tensor, nn

from scorer.errors import Invalid
from scorer.generators.latents import Latent
from scorer.generators.limits import GeneratorLimits
from scorer.generators.onnx.generator import Range, range_of
from scorer.generators.onnx.graph import Graph
from scorer.generators.onnx.module import OnnxModule
from scorer.generators.onnx.parsing import graph_of
from scorer.generators.onnx.shape_tracing import traced_shape

DEFAULT_LIMITS = GeneratorLimits()


class Encoder(nn.Module):
    """A network in the form that audits use: images (n, 3, s, s) float32 in [-1, 1] to latents (n, d) float32."""

    def __init__(self, network: OnnxModule) -> None:
        super().__init__()
        self.network = network

    def forward(self, images: Tensor) -> Tensor:
        """The latents of images (n, 3, s, s)."""
        codes: Tensor = self.network(images)
        return codes.float().flatten(1)


def read_encoder(content: bytes, latent: Latent, *, size: int, limits: GeneratorLimits = DEFAULT_LIMITS) -> Encoder:
    """The encoder in an ONNX file, read under the same rules as a generator.

    It takes any number of colour images of ``size`` in [-1, 1] and returns one latent point for each, (n, d) or
    (n, d, 1, 1). Raises ``Invalid`` as :func:`~scorer.generators.onnx.parsing.graph_of` and
    :func:`~scorer.generators.onnx.shape_tracing.traced_shape` do, and ``wrong-encoder`` for other shapes.
    """
    graph = graph_of(content, latent.dimension, limits)
    require_image_input(graph, size)
    network = OnnxModule(graph).eval()
    for rows in (2, 3):
        shape = traced_shape(network, (rows, 3, size, size), limits)
        if shape not in {(rows, latent.dimension), (rows, latent.dimension, 1, 1)}:
            shape_text = " x ".join(str(side) for side in shape)
            raise Invalid(
                "wrong-encoder",
                f"{rows} images become {shape_text}; wanted are {rows} latents of {latent.dimension} numbers.",
            )
    return Encoder(network).requires_grad_(requires_grad=False)


def require_image_input(graph: Graph, size: int) -> None:
    """``Invalid`` (``wrong-encoder``) unless a network takes any number of colour images of ``size``."""
    declared = graph.latent_shape
    expected = (None, 3, size, size)
    if len(declared) != 4 or any(one not in {None, other} for one, other in zip(declared, expected, strict=True)):
        shape_text = " x ".join("n" if side is None else str(side) for side in declared)
        raise Invalid("wrong-encoder", f"The network takes {shape_text}, and should images of n x 3 x {size} x {size}.")


class ImageToImage(nn.Module):
    """A network in the form that audits use: images (n, 3, s, s) float32 in [-1, 1] to images of the same form."""

    def __init__(self, network: OnnxModule) -> None:
        super().__init__()
        self.network = network
        self.values: Range = "tanh"

    def forward(self, images: Tensor) -> Tensor:
        """The images made of images (n, 3, s, s)."""
        made: Tensor = self.network(images).float()
        return 2.0 * made - 1.0 if self.values == "sigmoid" else made

    def set_range(self, images: Tensor) -> None:
        """Set the range of the values it makes, by those that it makes of ``images``; ``Invalid`` (``wrong-range``) if
        they leave it."""
        self.values = range_of(self.network(images).float())


def read_image_to_image(content: bytes, *, size: int, limits: GeneratorLimits = DEFAULT_LIMITS) -> ImageToImage:
    """The image-to-image network in an ONNX file, read under the same rules as a generator.

    It takes any number of colour images of ``size`` in [-1, 1] and makes one of each, of the same size. Raises
    ``Invalid`` as :func:`~scorer.generators.onnx.parsing.graph_of` and
    :func:`~scorer.generators.onnx.shape_tracing.traced_shape` do, and ``wrong-encoder`` for other shapes.
    """
    graph = graph_of(content, None, limits)
    require_image_input(graph, size)
    network = OnnxModule(graph).eval()
    for rows in (2, 3):
        wanted = (rows, 3, size, size)
        shape = traced_shape(network, wanted, limits)
        if shape != wanted:
            shape_text, wanted_text = (" x ".join(str(side) for side in each) for each in (shape, wanted))
            raise Invalid("wrong-encoder", f"{rows} images become {shape_text}; wanted are {wanted_text}.")
    return ImageToImage(network).requires_grad_(requires_grad=False)
