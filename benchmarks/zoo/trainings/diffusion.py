"""Diffusion models (Karras et al. 2022) of pixels and of an autoencoder's codes. Both are honest."""

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import cast

import torch
from torch import Tensor

from benchmarks.zoo.entries import ZooPlan
from benchmarks.zoo.trainings.models import Denoiser
from benchmarks.zoo.trainings.training import (
    Batches,
    GeneratedImages,
    anneal,
    build_average,
    gradient_step,
    half_precision,
    images_drawn_from,
    single_threaded,
)
from deploy.demo.tiles import Pixels
from scorer.generators.recovery.search import to_targets

_RATE, _DECAY = 2e-3, 0.995
_NOISE = -1.2, 1.2  # mean and deviation of the noise's logarithm in training
_LEAST, _MOST, _CURVE, _LEVELS = 0.002, 80.0, 7.0, 18  # of the noise in drawing
_PATCH = 4


def diffusion(train: Pixels, plan: ZooPlan, seed: int) -> Iterator[GeneratedImages]:
    """``diffusion``: a model of pixels, of training images mirrored at random."""
    with single_threaded(seed):
        images = to_targets(train)
        mirrored = images.flip(3)
        deviation = float(images.std())
        batches = Batches(len(images), plan.batch, seed)

        def drawn(number: int) -> Tensor:
            rows = batches.batch_at(number)
            return torch.where(torch.rand(len(rows), 1, 1, 1) < 0.5, images[rows], mirrored[rows])

        network = Denoiser(3, plan.diffusion_width, _PATCH, deviation=deviation)
        denoiser = trained_denoiser(network, plan.diffusion, drawn)
        noise = torch.randn(plan.images, *images.shape[1:])
        yield GeneratedImages("diffusion", "", images_drawn_from(lambda some: sampled(denoiser, some), noise))


def trained_denoiser(network: Denoiser, steps: int, drawn: Callable[[int], Tensor]) -> Denoiser:
    """The average of a denoiser's weights over its training on the images ``drawn`` for each step."""
    optimiser = torch.optim.Adam(network.parameters(), lr=_RATE)
    average = build_average(network, _DECAY)
    for number in range(steps):
        anneal(optimiser, _RATE, number, steps=steps)
        clean = drawn(number)
        sigma = torch.exp(_NOISE[0] + _NOISE[1] * torch.randn(len(clean)))
        noisy = clean + sigma.view(-1, 1, 1, 1) * torch.randn_like(clean)
        with half_precision():
            found = network(noisy, sigma).float()
        weight = 1.0 / sigma.square() + 1.0 / network.deviation**2
        gradient_step(optimiser, (weight * (found - clean).square().mean((1, 2, 3))).mean())
        average.update_parameters(network)
    return cast("Denoiser", average.module).eval()


@torch.no_grad()
def sampled(denoiser: Denoiser, noise: Tensor) -> Tensor:
    """Images from normal noise (n, c, s, s) by Heun's method, algorithm 1 of Karras et al."""
    share = torch.linspace(0.0, 1.0, _LEVELS)
    levels = (_MOST ** (1 / _CURVE) + share * (_LEAST ** (1 / _CURVE) - _MOST ** (1 / _CURVE))) ** _CURVE
    levels = torch.cat([levels, torch.zeros(1)])
    images = noise * levels[0]
    for level, following in pairwise(levels):
        slope = (images - denoiser(images, level.expand(len(images)))) / level
        moved = images + (following - level) * slope
        if following > 0:
            other = (moved - denoiser(moved, following.expand(len(images)))) / following
            moved = images + (following - level) * (slope + other) / 2.0
        images = moved
    return images
