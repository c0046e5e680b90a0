"""Sizes of the zoo and of its trainings."""

from dataclasses import dataclass

SEEDS = (0, 1, 2, 3, 4)
"""The seeds of which the zoo is made, each with all trainings."""
FIXING = (0, 1)
"""Seeds on which thresholds are fixed; they are judged on the others."""


@dataclass(frozen=True)
class ZooPlan:
    """Sizes of the trainings of one seed. Each of them is so many steps, of ``batch`` images each."""

    images: int
    """Images of an entry; generators that map seeds to training images learn that many."""
    photographs: int
    """Number of held-out images that are an entry and no part of the reference."""
    batch: int
    width: int
    """Channels of the widest images in the networks that memorise."""
    sup: int
    membership: int
    """Steps of the memorising GAN's discriminator, before it is frozen."""
    mgan: int
    ae: int
    vae: int
    flow: int
    """Steps of the diffusion model of the variational autoencoder's codes."""
    gan: int
    gan_width: int
    diffusion: int
    diffusion_width: int
    spaces: tuple[str, str]
    """Public and private extractor."""


FULL = ZooPlan(
    images=300,
    photographs=165,
    batch=16,
    width=24,
    sup=4200,
    membership=600,
    mgan=4200,
    ae=1000,
    vae=3000,
    flow=4000,
    gan=6000,
    gan_width=16,
    diffusion=2200,
    diffusion_width=48,
    spaces=("efficientnet_lite0", "efficientnet_lite2"),
)
"""Some 35 minutes of one core for each seed, most of it for trainings."""
