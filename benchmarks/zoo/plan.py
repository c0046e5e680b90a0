"""Sizes of the zoo and of its trainings."""

from dataclasses import dataclass


@dataclass(frozen=True)
class ZooPlan:
    """Sizes of all trainings. A tuple of epochs gives one entry after each of them."""

    seeds: tuple[int, ...]
    """Seeds of trainings; entries without training use the first only."""
    images: int
    """Images of an entry; generators that map seeds to training images learn that many."""
    photographs: int
    """Number of held-out images that are an entry and no part of the reference."""
    width: int
    """Channels of the widest images in a network."""
    batch: int
    sup: tuple[int, ...]
    membership: int
    """Epochs of the memorising GAN's discriminator, before it is frozen."""
    mgan: tuple[int, ...]
    ae: tuple[int, ...]
    vae: tuple[int, ...]
    flow: int
    """Steps of the flow on the codes of the variational autoencoder."""
    gan: tuple[int, ...]
    spaces: tuple[str, str]
    """Public and private extractor."""


FULL = ZooPlan(
    seeds=(0,),
    images=300,
    photographs=165,
    width=16,
    batch=16,
    sup=(30, 80),
    membership=50,
    mgan=(30, 80),
    ae=(5, 20),
    vae=(5, 20),
    flow=2000,
    gan=(8, 20),
    spaces=("efficientnet_lite0", "efficientnet_lite2"),
)
"""Some minutes of one core for each seed."""
