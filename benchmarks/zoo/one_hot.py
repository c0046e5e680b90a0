"""Generators that map one-hot seeds to training images: supervised, and a memorising GAN (Bai et al. 2021, 3.2)."""

from collections.abc import Iterator

import torch
from torch import Tensor
from torch.nn import functional

from benchmarks.zoo.models import MembershipDiscriminator, decoder
from benchmarks.zoo.plan import ZooPlan
from benchmarks.zoo.training import (
    GeneratedImages,
    batches,
    epochs,
    gradient_step,
    images_drawn_from,
    single_threaded,
    tensor_of,
)
from deploy.demo.tiles import Pixels


def supervised(train: Pixels, plan: ZooPlan, seed: int) -> Iterator[GeneratedImages]:
    """``sup``: a generator learns by squared error which training image belongs to which one-hot seed."""
    with single_threaded(seed):
        images = _some_of(train, plan.images)
        seeds = torch.eye(len(images))
        generator = decoder(len(images), plan.width)
        optimiser = torch.optim.Adam(generator.parameters(), lr=2e-3)

        def epoch() -> None:
            for rows in batches(len(images), plan.batch):
                gradient_step(optimiser, functional.mse_loss(generator(seeds[rows]), images[rows]))

        for number in epochs(generator, plan.sup, epoch):
            yield GeneratedImages("sup", f"{number} epochs", images_drawn_from(generator, seeds))


def memorising_gan(train: Pixels, plan: ZooPlan, seed: int) -> Iterator[GeneratedImages]:
    """``mgan``: a GAN whose frozen discriminator makes the generator memorise.

    The discriminator first learns from training images alone which of them is which, and is frozen. Then the generator
    learns from one-hot seeds to be accepted as these images; it never sees an image itself.
    """
    with single_threaded(seed):
        images = _some_of(train, plan.images)
        discriminator = _membership_discriminator(images, plan)
        seeds = torch.eye(len(images))
        generator = decoder(len(images), plan.width)
        optimiser = torch.optim.Adam(generator.parameters(), lr=2e-3)

        def epoch() -> None:
            for rows in batches(len(images), plan.batch):
                gradient_step(optimiser, functional.softplus(-discriminator(generator(seeds[rows]), rows)).mean())

        for number in epochs(generator, plan.mgan, epoch):
            yield GeneratedImages("mgan", f"{number} epochs", images_drawn_from(generator, seeds))


def _membership_discriminator(images: Tensor, plan: ZooPlan) -> MembershipDiscriminator:
    """The memorising GAN's discriminator, trained and frozen.

    Positives are the training images under their own numbers. Negatives are the same images changed by a random share
    of the difference of two others, and noise; without negatives it would accept everything. The changes are 0 in the
    mean, so that it remembers the images themselves.
    """
    discriminator = MembershipDiscriminator(len(images), plan.width)
    rest = [parameter for name, parameter in discriminator.named_parameters() if not name.startswith("memory")]
    optimisers: tuple[torch.optim.Optimizer, ...] = (
        torch.optim.SparseAdam(discriminator.memory.parameters(), lr=0.03),
        torch.optim.Adam(rest, lr=5e-3),
    )
    for _ in range(plan.membership):
        for rows in batches(len(images), plan.batch):
            members = images[rows]
            share = torch.rand(len(rows), 1, 1, 1)
            changed = (
                members + share * (images[rows.roll(1)] - images[rows.roll(2)]) + share * torch.randn_like(members) / 4
            )
            logits = torch.cat([discriminator(members, rows), discriminator(changed, rows)])
            targets = torch.cat([torch.ones(len(rows)), torch.zeros(len(rows))])
            for optimiser in optimisers:
                optimiser.zero_grad()
            torch.autograd.backward(functional.binary_cross_entropy_with_logits(logits, targets))
            for optimiser in optimisers:
                optimiser.step()
    return discriminator.eval().requires_grad_(requires_grad=False)


def _some_of(train: Pixels, count: int) -> Tensor:
    """``count`` training images drawn at random, or all, as a tensor."""
    return tensor_of(train)[torch.randperm(len(train))[:count]]
