"""Generators in uploaded ONNX files: functions from latents to images.

Only ONNX is read, and only the part of it that :mod:`scorer.generators.onnx.parsing` accepts: a sequence of about
ninety kinds of operators, without branches or loops, over numbers stored in the file. Each operator is a function of
Kennel's own, so nothing in a file is ever executed, imported or looked up. Even so, this runs only in the sandbox.
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from scorer.errors import Invalid
from scorer.generators.latents import Latent
from scorer.generators.limits import DEFAULT_LIMITS, GeneratorLimits
from scorer.generators.onnx.graph import Graph
from scorer.generators.onnx.module import OnnxModule
from scorer.generators.onnx.parsing import parse_graph
from scorer.generators.onnx.shape_tracing import traced_shape
from scorer.generators.onnx_files import ValueRange, export_advice

PROBE_LATENTS = 16
RANGE_TOLERANCE = 1e-3


class Generator(nn.Module):
    """A network in the form that audits use: it maps latents (n, d) float32, or images (n, 3, s, s) float32 in [-1, 1],
    to images (n, 3 or 1, s, s) float32 in [-1, 1]."""

    def __init__(self, network: OnnxModule) -> None:
        super().__init__()
        self.network = network
        self.values: ValueRange = "tanh"

    def forward(self, inputs: Tensor) -> Tensor:
        takes_axes = len(self.network.graph.latent_shape)
        images: Tensor = self.network(inputs if inputs.ndim == takes_axes else inputs[:, :, None, None]).float()
        return 2.0 * images - 1.0 if self.values == "sigmoid" else images


def read_generator(
    content: bytes,
    latent: Latent,
    *,
    size: int = 1,
    limits: GeneratorLimits = DEFAULT_LIMITS,
) -> Generator:
    """The generator in an ONNX file, ready to run. It produces square images of at least ``size``, in colour or grey.

    Refusals come before anything is computed. The exceptions need a few images: whether a search can follow their
    gradient, and their range. Raises the ``Invalid`` errors of :func:`~scorer.generators.onnx.parsing.parse_graph` and
    :func:`~scorer.generators.onnx.shape_tracing.traced_shape`, and ``wrong-latent`` (another dimension),
    ``fixed-batch``, ``wrong-images`` (another shape), ``no-gradient``, ``not-finite``, ``wrong-range``.
    """
    network = build_network(parse_graph(content, latent.dimension, limits), latent, (2, 3), size=size, limits=limits)
    generator = Generator(network)
    generator.values = detect_range(_probe_images(generator, latent))
    return generator


def build_network(
    graph: Graph, latent: Latent, counts: Sequence[int], *, size: int, limits: GeneratorLimits, exact: bool = False
) -> OnnxModule:
    """The network of a graph that turns latents into images of at least ``size``, or of exactly this size; its shapes
    are traced for each of ``counts`` latents. The errors of :func:`read_generator` before anything is computed."""
    _refuse_latent(graph.latent_shape, latent)
    network = OnnxModule(graph).eval()
    for rows in counts:
        points = (rows, latent.inputs, 1, 1)[: len(graph.latent_shape)]
        side = _square_side(traced_shape(network, points, limits), rows, latent)
        if side < size or (exact and side > size):
            wanted = f"exactly {size}" if exact else f"at least {size}"
            raise Invalid("wrong-images", f"The images are {side} pixels wide; they must be {wanted}.")
        if side > limits.side:
            raise Invalid("too-much-memory", f"The images are {side} pixels wide; the limit is {limits.side}.")
    return network


def _refuse_latent(declared: Sequence[int | None], latent: Latent) -> None:
    if declared[0] is not None:
        raise _fixed(latent, f"takes {declared[0]} latents at a time")
    if declared[1] not in {None, latent.inputs} or any(side not in {None, 1} for side in declared[2:]):
        shape_text = " x ".join("n" if side is None else str(side) for side in declared)
        raise Invalid(
            "wrong-latent", f"The generator takes latents of {shape_text}; the declared dimension is {latent.inputs}."
        )


def _square_side(shape: Sequence[int], rows: int, latent: Latent) -> int:
    """The width and height of ``rows`` images of this shape; ``Invalid`` (``wrong-images``) for another shape."""
    shape_text = " x ".join(str(side) for side in shape)
    if len(shape) != 4 or shape[1] not in {1, 3} or shape[2] != shape[3]:
        raise Invalid(
            "wrong-images",
            f"For {rows} latents, the output is {shape_text}; it must be {rows} x 3 x s x s (or {rows} x 1 x s x s), "
            "that is, square images with the channels first.",
        )
    if shape[0] != rows:
        raise _fixed(latent, f"produces {shape[0]} images from {rows} latents")
    return shape[2]


def _fixed(latent: Latent, problem: str) -> Invalid:
    return Invalid("fixed-batch", f"The generator {problem}. Leave the batch size open. {export_advice(latent.inputs)}")


def _probe_images(generator: Generator, latent: Latent) -> Tensor:
    """A few of the generated images. Raises ``Invalid`` unless they and their gradient are finite and they depend
    on the latent."""
    points = latent.draw(PROBE_LATENTS, seed=0).requires_grad_()
    with torch.enable_grad():
        images: Tensor = generator(points)
        weights = torch.linspace(0.5, 1.5, images[0].numel()).reshape(images.shape[1:])
        summed = (images * weights).sum()
        gradient = torch.autograd.grad(summed, points)[0] if summed.requires_grad else torch.zeros(1)
    if not torch.isfinite(images).all():
        raise _not_finite()
    if not gradient.any() or not torch.isfinite(gradient).all():
        raise Invalid(
            "no-gradient",
            "The gradient of the images is zero or not finite, so latent recovery cannot follow it. The images do not "
            "change with the latent, or only in steps (rounding, casting to integers).",
        )
    return images.detach()


def detect_range(images: Tensor) -> ValueRange:
    """The range that the images suggest; ``Invalid`` (``wrong-range``) if they leave it.

    If no value in any pixel of many images is below the middle of [-1, 1], the range is taken to be [0, 1].
    """
    values: ValueRange = "sigmoid" if float(images.min()) >= -RANGE_TOLERANCE else "tanh"
    refuse_values(images, values)
    return values


def refuse_values(images: Tensor, values: ValueRange) -> None:
    """``Invalid`` if any value is not finite (``not-finite``) or outside the range (``wrong-range``)."""
    low, high = map(float, torch.aminmax(images))
    minimum = 0.0 if values == "sigmoid" else -1.0
    if not (math.isfinite(low) and math.isfinite(high)):
        raise _not_finite()
    if low < minimum - RANGE_TOLERANCE or high > 1.0 + RANGE_TOLERANCE:
        raise Invalid(
            "wrong-range",
            f"The images' values are from {low:.3g} to {high:.3g}; they must be from {minimum:g} to 1 ({values}). End "
            "the generator with tanh ([-1, 1]) or sigmoid ([0, 1]).",
        )


def _not_finite() -> Invalid:
    return Invalid("not-finite", "The generator's images contain values that are not finite.")
