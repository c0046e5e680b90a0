"""Generators in uploaded ONNX files: functions from latents to images.

Only ONNX is read, and only the part of it that :mod:`scorer.generators.onnx.parsing` accepts: a sequence of about
ninety kinds of operators, without branches or loops, over numbers stored in the file. Each operator is a function of
Kennel's own, so nothing in a file is ever executed, imported or looked up. Even so, this runs only in the sandbox.
"""

from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor, nn

from scorer.errors import Invalid
from scorer.generators.latents import Latent
from scorer.generators.limits import DEFAULT_LIMITS, GeneratorLimits
from scorer.generators.onnx.module import OnnxModule
from scorer.generators.onnx.parsing import parse_graph
from scorer.generators.onnx.shape_tracing import traced_shape
from scorer.generators.onnx_files import export_advice

Range = Literal["tanh", "sigmoid"]
"""The range of the images' values: ``tanh`` is [-1, 1], ``sigmoid`` is [0, 1]."""
PROBE_LATENTS = 16
RANGE_TOLERANCE = 1e-3


class Generator(nn.Module):
    """A network in the form that audits use: it maps latents (n, d) float32, or images (n, 3, s, s) float32 in [-1, 1],
    to images (n, 3 or 1, s, s) float32 in [-1, 1]."""

    def __init__(self, network: OnnxModule) -> None:
        super().__init__()
        self.network = network
        self.values: Range = "tanh"

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
    graph = parse_graph(content, latent.dimension, limits)
    _refuse_latent(graph.latent_shape, latent.dimension)
    network = OnnxModule(graph).eval()
    for rows in (2, 3):
        points = (rows, latent.dimension, 1, 1)[: len(graph.latent_shape)]
        shape = traced_shape(network, points, limits)
        _refuse_images(shape, rows, size, limits=limits, dimension=latent.dimension)
    generator = Generator(network)
    generator.values = detect_range(_probe_images(generator, latent))
    return generator


def _refuse_latent(declared: Sequence[int | None], dimension: int) -> None:
    if declared[0] is not None:
        raise _fixed(dimension, f"takes {declared[0]} latents at a time")
    if declared[1] not in {None, dimension} or any(side not in {None, 1} for side in declared[2:]):
        shape_text = " x ".join("n" if side is None else str(side) for side in declared)
        raise Invalid(
            "wrong-latent", f"The generator takes latents of {shape_text}; the declared dimension is {dimension}."
        )


def _refuse_images(shape: Sequence[int], rows: int, size: int, *, limits: GeneratorLimits, dimension: int) -> None:
    shape_text = " x ".join(str(side) for side in shape)
    if len(shape) != 4 or shape[1] not in {1, 3} or shape[2] != shape[3]:
        raise Invalid(
            "wrong-images",
            f"For {rows} latents, the output is {shape_text}; it must be {rows} x 3 x s x s (or {rows} x 1 x s x s), "
            "that is, square images with the channels first.",
        )
    if shape[0] != rows:
        raise _fixed(dimension, f"produces {shape[0]} images from {rows} latents")
    if shape[2] < size:
        raise Invalid("wrong-images", f"The images are {shape[2]} pixels wide; they must be at least {size}.")
    if shape[2] > limits.side:
        raise Invalid("too-much-memory", f"The images are {shape[2]} pixels wide; the limit is {limits.side}.")


def _fixed(dimension: int, problem: str) -> Invalid:
    return Invalid("fixed-batch", f"The generator {problem}. Leave the batch size open. {export_advice(dimension)}")


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
        raise Invalid("not-finite", "The generator's images contain values that are not finite.")
    if not gradient.any() or not torch.isfinite(gradient).all():
        raise Invalid(
            "no-gradient",
            "The gradient of the images is zero or not finite, so latent recovery cannot follow it. The images do not "
            "change with the latent, or only in steps (rounding, casting to integers).",
        )
    return images.detach()


def detect_range(images: Tensor) -> Range:
    """The range that the images suggest; ``Invalid`` (``wrong-range``) if they leave it.

    If no value in any pixel of many images is below the middle of [-1, 1], the range is taken to be [0, 1].
    """
    low, high = float(images.min()), float(images.max())
    values: Range = "sigmoid" if low >= -RANGE_TOLERANCE else "tanh"
    minimum = 0.0 if values == "sigmoid" else -1.0
    if low < minimum - RANGE_TOLERANCE or high > 1.0 + RANGE_TOLERANCE:
        raise Invalid(
            "wrong-range",
            f"The images' values are from {low:.3g} to {high:.3g}; they must be from {minimum:g} to 1 ({values}). End "
            "the generator with tanh ([-1, 1]) or sigmoid ([0, 1]).",
        )
    return values
