"""Entries without a network: altered training images, and normal distributions of pixels."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from types import MappingProxyType

import numpy as np

from benchmarks.zoo.entries import ZooPlan
from benchmarks.zoo.trainings.training import GeneratedImages
from deploy.demo import generators
from deploy.demo.tiles import Pixels

Draw = Callable[[Pixels, int, np.random.Generator], Pixels]


def recoloured(train: Pixels, count: int, rng: np.random.Generator, *, max_change: float) -> Pixels:
    """Training images with brightness and contrast of each channel changed by up to ``max_change``, a share."""
    images = generators.copies(train, count, rng).astype(np.float32)
    factor, shift = rng.uniform(1 - max_change, 1 + max_change, (2, count, 1, 1, 3)).astype(np.float32)
    levels: Pixels = np.clip(np.rint((images - 128) * factor + 128 * shift), 0, 255).astype(np.uint8)
    return levels


def everything(train: Pixels, count: int, rng: np.random.Generator) -> Pixels:
    """Training images, cropped and recoloured; every other one is mirrored."""
    images = recoloured(
        generators.cropped(train, count, rng, min_share=0.7, max_share=0.9), count, rng, max_change=0.15
    )
    images[::2] = images[::2, :, ::-1]
    return images


AUGMENTATIONS: Mapping[str, Draw] = MappingProxyType(
    {
        "mirrored": generators.mirrored,
        "cropped to 90 %": partial(generators.cropped, min_share=0.85, max_share=0.95),
        "cropped to 70 %": partial(generators.cropped, min_share=0.6, max_share=0.8),
        "recoloured": partial(recoloured, max_change=0.2),
        "noisy": partial(generators.noisy, deviation=12.0),
        "blended": partial(generators.blended, max_share=0.8),
        "all at once": everything,
    }
)
NORMAL: Mapping[str, Draw] = MappingProxyType(
    {
        "20 components": partial(generators.gaussian, rank=20),
        "200 components": partial(generators.gaussian, rank=200),
        "8 parts": partial(generators.mixture, rank=60, parts=8),
        "kernel density": partial(generators.kernel_density, bandwidth=1.0),  # the likeliest bandwidth; see the demo
    }
)


def augmented(train: Pixels, plan: ZooPlan, seed: int) -> Iterator[GeneratedImages]:
    """``aug``: each of :data:`AUGMENTATIONS`."""
    return _entries("aug", AUGMENTATIONS, train, plan=plan, seed=seed)


def normal(train: Pixels, plan: ZooPlan, seed: int) -> Iterator[GeneratedImages]:
    """``normal``: normal distributions in principal components, mixtures and a kernel density; honest."""
    return _entries("normal", NORMAL, train, plan=plan, seed=seed)


def _entries(
    method: str, draws: Mapping[str, Draw], train: Pixels, *, plan: ZooPlan, seed: int
) -> Iterator[GeneratedImages]:
    for number, (strength, draw) in enumerate(draws.items()):
        yield GeneratedImages(method, strength, draw(train, plan.images, np.random.default_rng((seed, number))))
