"""Generators as entries: reading them with their latent space, and drawing their images.

Images are drawn in float32 on the CPU, 64 latents at a time; the last batch is filled with further latents of the same
draw. So an image depends on its own latent alone, whether it is one of 10 images or of 10,000.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from scorer.errors import Invalid
from scorer.generators.drawing import (
    BATCH,
    MAX_DIFFERENT,
    Pixels,
    Rows,
    compare_draws,
    redrawn_rows,
    shift_to_other_rows,
    to_pixels,
)
from scorer.generators.latents import Latent, resolve_latent
from scorer.generators.limits import GeneratorLimits
from scorer.generators.onnx.generator import Generator, build_network, refuse_values
from scorer.generators.onnx.graph import Graph, printable_name
from scorer.generators.onnx.parsing import parse_graph
from scorer.generators.onnx_files import CLASSES_KEY, DISTRIBUTION_KEY, DeclaredLatent, ValueRange
from scorer.generators.seeds import Latents, latents

COUNTS = (1, 2, 3)
"""Numbers of latents for which shapes are traced: images are also drawn one at a time."""


@dataclass(frozen=True, eq=False)
class EntryGenerator:
    generator: Generator
    latent: Latent

    @property
    def graph(self) -> Graph:
        return self.generator.network.graph

    def run(self, points: Latents) -> Tensor:
        """The network's output (n, 3 or 1, s, s) float32, in its own range."""
        with torch.inference_mode():
            images: Tensor = self.generator(torch.from_numpy(points))
        return images

    def pixels(self, points: Latents, values: ValueRange) -> Pixels:
        """The images of latents. ``Invalid``: ``not-finite``, ``wrong-range``."""
        images = self.run(points)
        refuse_values(images, values)
        return to_pixels(images.numpy(), values)

    def fixed_pixels(self, points: Latents, values: ValueRange, *, side: int) -> Pixels:
        """The images of secret latents that every check uses: no refusal says something about them. Numbers out of
        range are clipped, and images that cannot be computed are black."""
        try:
            images = np.nan_to_num(self.run(points).numpy()).clip(-1.0, 1.0)
        except Invalid:
            return np.zeros((len(points), side, side, 3), np.uint8)
        return to_pixels(images, values)


def read_entry(
    content: bytes,
    declared: DeclaredLatent,
    default: DeclaredLatent,
    *,
    size: int | None,
    limits: GeneratorLimits,
    trace: bool = True,
) -> EntryGenerator:
    """The generator of an entry, and its latent space as declared, as the file's metadata says, or by ``default``.

    It produces square images of exactly ``size`` (None: of any size), in colour or grey, from any number of latents.
    Nothing is computed. Without ``trace``, its shapes and cost are trusted: for a file that was traced before.
    Raises the ``Invalid`` errors of :func:`~scorer.generators.onnx.generator.read_generator` up to ``wrong-images``,
    and those of :func:`~scorer.generators.latents.resolve_latent`.
    """
    graph = parse_graph(content, declared.dimension or "dimension", limits)
    latent = resolve_latent(graph.latent_shape[1], (declared, _declared_in(graph), default))
    counts = COUNTS if trace else ()
    network = build_network(graph, latent, counts, size=size or 1, limits=limits, exact=size is not None)
    network.store_columns()
    return EntryGenerator(Generator(network), latent)


def _declared_in(graph: Graph) -> DeclaredLatent:
    """What the file's metadata says. ``Invalid`` (``bad-latent``) for a number of classes that is none."""
    classes = graph.metadata.get(CLASSES_KEY)
    if classes is not None and not (classes.isascii() and classes.isdecimal() and len(classes) < 6):
        raise Invalid(
            "bad-latent",
            f"The file's metadata has {CLASSES_KEY} = '{printable_name(classes)}'; it must be a whole number.",
        )
    distribution = graph.metadata.get(DISTRIBUTION_KEY)
    return DeclaredLatent(
        distribution=None if distribution is None else printable_name(distribution),  # type: ignore[arg-type] # checked
        classes=None if classes is None else int(classes),
    )


def draw_images(entry: EntryGenerator, digest: bytes, count: int, *, values: ValueRange) -> Iterator[Pixels]:
    """The images of a draw, up to 64 at a time. At the end, some are drawn again: in other rows among other neighbours,
    and alone.

    ``Invalid``: ``not-finite``, ``wrong-range``; at the end ``rows-depend`` and ``unstable``.
    """
    rows = redrawn_rows(digest, count)
    drawn = []
    for start in range(0, count, BATCH):
        points = latents(digest, entry.latent, start=start, stop=start + BATCH)
        pixels = entry.pixels(points, values)[: count - start]
        drawn.append(pixels[rows[(rows >= start) & (rows < start + BATCH)] - start])
        yield pixels
    _refuse_dependence(entry, digest, rows, first=np.concatenate(drawn), strangers=start + BATCH, values=values)


def _refuse_dependence(
    entry: EntryGenerator, digest: bytes, rows: Rows, *, first: Pixels, strangers: int, values: ValueRange
) -> None:
    """Draw the images of ``rows`` again: together with images from ``strangers`` on, and each alone."""
    own = np.concatenate([latents(digest, entry.latent, start=row, stop=row + 1) for row in rows.tolist()])
    others = latents(digest, entry.latent, start=strangers, stop=strangers + BATCH - len(rows))
    shift = shift_to_other_rows(rows)
    batch = np.roll(np.concatenate([own, others]), shift, axis=0)
    together = np.roll(entry.pixels(batch, values), -shift, axis=0)[: len(rows)]
    if compare_draws(first, together) > MAX_DIFFERENT:
        raise Invalid(
            "rows-depend",
            "An image depends on the other images in its batch, or on its place among them. Export the generator in "
            "evaluation mode (`model.eval()`), without normalisation over the batch and without counting its rows.",
        )
    alone = np.concatenate([entry.pixels(own[row : row + 1], values) for row in range(len(own))])
    if compare_draws(first, alone) > MAX_DIFFERENT:
        raise Invalid(
            "unstable",
            "An image changes when it is drawn alone. It may depend on the number of images in its batch, or "
            "magnify rounding errors.",
        )
