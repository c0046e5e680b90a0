"""The honest GAN: a DCGAN with spectral norms, like those among the first ten of the 2019 competition."""

from collections.abc import Iterator

import torch
from torch import Tensor
from torch.nn import functional

from benchmarks.papers.recovery_networks import build_discriminator, build_generator
from benchmarks.zoo.entries import ZooPlan
from benchmarks.zoo.trainings.models import SIZE
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

SEEDS = 64
_BETAS = 0.5, 0.999
_RATE, _DECAY = 5e-4, 0.998
_SHIFT = 8


def adversarial(train: Pixels, plan: ZooPlan, seed: int) -> Iterator[GeneratedImages]:
    """``gan``: train generator and discriminator in turn with the hinge loss, and average the generator's weights.

    The discriminator's images, real or drawn, are altered at random (Zhao et al. 2020). Otherwise it would memorise
    this few training images.
    """
    with single_threaded(seed):
        images = to_targets(train)
        generator = build_generator(SEEDS, SIZE, plan.gan_width, bias=True)
        critic = build_discriminator(SIZE, plan.gan_width)
        average = build_average(generator, _DECAY)
        generator_optimiser = torch.optim.Adam(generator.parameters(), lr=_RATE, betas=_BETAS)
        critic_optimiser = torch.optim.Adam(critic.parameters(), lr=_RATE, betas=_BETAS)
        batches = Batches(len(images), plan.batch, seed)

        for number in range(plan.gan):
            for optimiser in (generator_optimiser, critic_optimiser):
                anneal(optimiser, _RATE, number, steps=plan.gan)
            rows = batches.batch_at(number)
            with half_precision():
                drawn = generator(torch.randn(len(rows), SEEDS)).float()
                real, false = critic(altered(images[rows])).float(), critic(altered(drawn.detach())).float()
            gradient_step(critic_optimiser, functional.relu(1.0 - real).mean() + functional.relu(1.0 + false).mean())
            with half_precision():
                judged = critic(altered(drawn)).float()
            gradient_step(generator_optimiser, -judged.mean())
            average.update_parameters(generator)
        yield GeneratedImages("gan", "", images_drawn_from(average.eval(), torch.randn(plan.images, SEEDS)))


def altered(images: Tensor) -> Tensor:
    """Images (n, 3, s, s), mirrored half of the time, each slightly brighter or darker, all shifted equally."""
    images = images.flip(3) if torch.rand(()) < 0.5 else images
    images = images + (torch.rand(len(images), 1, 1, 1) - 0.5) / 2.0
    left, top = (int(number) for number in torch.randint(2 * _SHIFT + 1, (2,)))
    size = images.shape[2]
    return functional.pad(images, (_SHIFT,) * 4)[:, :, top : top + size, left : left + size]
