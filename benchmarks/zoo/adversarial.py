"""The honest GAN: a DCGAN with spectral norms, like those among the first ten of the 2019 competition."""

from collections.abc import Iterator

import torch
from torch.nn import functional

from benchmarks.zoo.models import decoder, discriminator
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

SEEDS = 64
_BETAS = 0.5, 0.999


def adversarial(train: Pixels, plan: ZooPlan, seed: int) -> Iterator[GeneratedImages]:
    """``gan``: generator and discriminator in turn, with the hinge loss, on training images mirrored at random."""
    with single_threaded(seed):
        images = tensor_of(train)
        generator = decoder(SEEDS, plan.width)
        critic = discriminator(plan.width)
        generator_optimiser = torch.optim.Adam(generator.parameters(), lr=5e-4, betas=_BETAS)
        critic_optimiser = torch.optim.Adam(critic.parameters(), lr=5e-4, betas=_BETAS)

        def epoch() -> None:
            for rows in batches(len(images), plan.batch):
                real = images[rows] if torch.rand(()) < 0.5 else images[rows].flip(3)
                generated = generator(torch.randn(len(rows), SEEDS))
                loss = (
                    functional.relu(1.0 - critic(real)).mean()
                    + functional.relu(1.0 + critic(generated.detach())).mean()
                )
                gradient_step(critic_optimiser, loss)
                gradient_step(generator_optimiser, -critic(generated).mean())

        for number in epochs(generator, plan.gan, epoch):
            yield GeneratedImages(
                "gan", f"{number} epochs", images_drawn_from(generator, torch.randn(plan.images, SEEDS))
            )
