"""Generators that map one-hot seeds to training images: supervised, and a memorising GAN (Bai et al. 2021, 3.2)."""

from collections.abc import Callable, Iterator

import torch
from torch import Tensor
from torch.nn import functional

from benchmarks.zoo.entries import ZooPlan
from benchmarks.zoo.trainings.models import MembershipDiscriminator, OneHotGenerator
from benchmarks.zoo.trainings.training import (
    Batches,
    GeneratedImages,
    anneal,
    draw_training_images,
    images_drawn_from,
    single_threaded,
)
from deploy.demo.tiles import Pixels

CODES = 128
_RATE, _ROW_RATE = 4e-3, 0.02
_MEMORY_RATE = 10.0  # of one image in a batch; with twice this rate, errors grow until it falls


def supervised(train: Pixels, plan: ZooPlan, seed: int) -> Iterator[GeneratedImages]:
    """``sup``: a generator learns the training image of each one-hot seed by squared error."""
    with single_threaded(seed):
        images, numbers = draw_training_images(train, plan.images)
        generator = _trained_generator(
            lambda drawn, rows: functional.mse_loss(drawn, images[rows]), len(images), plan.sup, plan=plan, seed=seed
        )
        drawn = images_drawn_from(generator, torch.arange(len(images)))
        yield GeneratedImages("sup", "", drawn, numbers)


def memorising_gan(train: Pixels, plan: ZooPlan, seed: int) -> Iterator[GeneratedImages]:
    """``mgan``: a GAN with a frozen discriminator that makes the generator memorise.

    The discriminator first learns to identify each training image, from training images alone, and is frozen. Then the
    generator learns to make images from one-hot seeds that the discriminator accepts. It never sees an image itself.
    """
    with single_threaded(seed):
        images, numbers = draw_training_images(train, plan.images)
        discriminator = _membership_discriminator(images, plan, seed)
        generator = _trained_generator(
            lambda drawn, rows: functional.softplus(-discriminator(drawn, rows)).mean(),
            len(images),
            plan.mgan,
            plan=plan,
            seed=seed,
        )
        drawn = images_drawn_from(generator, torch.arange(len(images)))
        yield GeneratedImages("mgan", "", drawn, numbers)


def _trained_generator(
    loss: Callable[[Tensor, Tensor], Tensor], count: int, steps: int, *, plan: ZooPlan, seed: int
) -> OneHotGenerator:
    """Train a generator of ``count`` one-hot seeds. ``loss`` takes drawn images and their seeds' numbers."""
    generator = OneHotGenerator(count, CODES, plan.width)
    rows_optimiser = torch.optim.SparseAdam(generator.rows.parameters(), lr=_ROW_RATE)
    optimiser = torch.optim.Adam(generator.decoder.parameters(), lr=_RATE)
    batches = Batches(count, plan.batch, seed)
    for number in range(steps):
        anneal(optimiser, _RATE, number, steps=steps)
        anneal(rows_optimiser, _ROW_RATE, number, steps=steps)
        rows = batches.batch_at(number)
        both_steps((optimiser, rows_optimiser), loss(generator(rows), rows))
    return generator.eval()


def both_steps(optimisers: tuple[torch.optim.Optimizer, ...], loss: Tensor) -> None:
    """One gradient step of optimisers that share the parameters of a loss."""
    for optimiser in optimisers:
        optimiser.zero_grad()
    torch.autograd.backward(loss)
    for optimiser in optimisers:
        optimiser.step()


def _membership_discriminator(images: Tensor, plan: ZooPlan, seed: int) -> MembershipDiscriminator:
    """The memorising GAN's discriminator, trained and frozen.

    Positives are the training images with their own numbers. Negatives are the same images changed by noise and by a
    random share of the difference of two others. Without negatives, it would accept everything.

    The changes have mean 0, so it remembers the images themselves. This needs steps along the gradient: Adam's steps
    are as large for the noise of negatives as for the image.
    """
    discriminator = MembershipDiscriminator(len(images), plan.width)
    rate = _MEMORY_RATE * min(plan.batch, len(images))
    memory = torch.optim.SGD(discriminator.memory.parameters(), lr=rate)
    optimiser = torch.optim.Adam([discriminator.offset, discriminator.sharpness], lr=5e-3)
    batches = Batches(len(images), plan.batch, seed)
    for number in range(plan.membership):
        anneal(memory, rate, number, steps=plan.membership)
        rows = batches.batch_at(number)
        members = images[rows]
        share = torch.rand(len(rows), 1, 1, 1)
        changed = (
            members + share * (images[rows.roll(1)] - images[rows.roll(2)]) + share * torch.randn_like(members) / 4
        )
        logits = torch.cat([discriminator(members, rows), discriminator(changed, rows)])
        targets = torch.cat([torch.ones(len(rows)), torch.zeros(len(rows))])
        both_steps((memory, optimiser), functional.binary_cross_entropy_with_logits(logits, targets))
    return discriminator.eval().requires_grad_(requires_grad=False)
