"""From a file that a stranger hands in to an encoder: a function of images that says which latent point makes them."""

from torch import Tensor, nn

from scorer.errors import Invalid
from scorer.generators.latents import Latent
from scorer.generators.limits import GeneratorLimits
from scorer.generators.onnx.module import OnnxModule
from scorer.generators.onnx.parsing import graph_of
from scorer.generators.onnx.shape_tracing import traced_shape

DEFAULT_LIMITS = GeneratorLimits()


class Encoder(nn.Module):
    """A network as the audit wants it: images (n, 3, s, s) float32 in [-1, 1] to latents (n, d) float32."""

    def __init__(self, network: OnnxModule) -> None:
        super().__init__()
        self.network = network

    def forward(self, images: Tensor) -> Tensor:
        """The latents of images (n, 3, s, s)."""
        codes: Tensor = self.network(images)
        return codes.float().flatten(1)


def read_encoder(content: bytes, latent: Latent, *, size: int, limits: GeneratorLimits = DEFAULT_LIMITS) -> Encoder:
    """The encoder in an ONNX file, read under the same rules as a generator.

    It takes colour images of ``size`` in [-1, 1], any number at a time, and gives one latent point each, (n, d) or
    (n, d, 1, 1). Raises ``Invalid`` as :func:`~scorer.generators.onnx.parsing.graph_of` and
    :func:`~scorer.generators.onnx.shape_tracing.traced_shape` do, and ``wrong-encoder`` for other shapes.
    """
    graph = graph_of(content, latent.dimension, limits)
    declared, expected = graph.latent_shape, (None, 3, size, size)
    if len(declared) != 4 or any(one not in {None, other} for one, other in zip(declared, expected, strict=True)):
        found = " x ".join("n" if side is None else str(side) for side in declared)
        raise Invalid("wrong-encoder", f"The encoder takes {found}, and should images of n x 3 x {size} x {size}.")
    network = OnnxModule(graph).eval()
    for rows in (2, 3):
        shape = traced_shape(network, (rows, 3, size, size), limits)
        if shape not in {(rows, latent.dimension), (rows, latent.dimension, 1, 1)}:
            found = " x ".join(str(side) for side in shape)
            raise Invalid(
                "wrong-encoder",
                f"{rows} images become {found}; wanted are {rows} latents of {latent.dimension} numbers.",
            )
    return Encoder(network).requires_grad_(requires_grad=False)
