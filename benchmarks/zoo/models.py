"""Small DCGAN-like networks (Radford et al. 2016) for images of 64 x 64 pixels in [-1, 1]."""

import math

import torch
from torch import Tensor, nn
from torch.nn.utils.parametrizations import orthogonal, spectral_norm

SIZE = 64
_STEPS = ((1, 2), (2, 4), (4, 8))  # of the width, between two layers, as the image is halved


def decoder(seeds: int, width: int) -> nn.Sequential:
    """From seeds or codes (n, seeds) to images (n, 3, 64, 64)."""
    layers: list[nn.Module] = [
        nn.Linear(seeds, 8 * width * 16),
        nn.Unflatten(1, (8 * width, 4, 4)),
        nn.BatchNorm2d(8 * width),
        nn.ReLU(),
    ]
    for narrow, wide in reversed(_STEPS):
        layers += [nn.ConvTranspose2d(wide * width, narrow * width, 4, 2, 1), nn.BatchNorm2d(narrow * width), nn.ReLU()]
    return nn.Sequential(*layers, nn.ConvTranspose2d(width, 3, 4, 2, 1), nn.Tanh())


def encoder(codes: int, width: int) -> nn.Sequential:
    """From images (n, 3, 64, 64) to codes (n, codes)."""
    layers: list[nn.Module] = [nn.Conv2d(3, width, 4, 2, 1), nn.LeakyReLU(0.2)]
    for narrow, wide in _STEPS:
        layers += [nn.Conv2d(narrow * width, wide * width, 4, 2, 1), nn.BatchNorm2d(wide * width), nn.LeakyReLU(0.2)]
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(8 * width * 16, codes))


def discriminator(width: int) -> nn.Sequential:
    """From images to one score each, (n, 1), every layer of spectral norm 1 (Miyato et al. 2018); no batch norms."""
    layers: list[nn.Module] = [spectral_norm(nn.Conv2d(3, width, 4, 2, 1)), nn.LeakyReLU(0.2)]
    for narrow, wide in _STEPS:
        layers += [spectral_norm(nn.Conv2d(narrow * width, wide * width, 4, 2, 1)), nn.LeakyReLU(0.2)]
    return nn.Sequential(*layers, nn.Flatten(), spectral_norm(nn.Linear(8 * width * 16, 1)))


class MembershipDiscriminator(nn.Module):
    """A classifier of membership in the training set: whether an image is the i-th training image.

    It learns an image for every number i, and filters that are applied to the difference, beside the pixels themselves.
    The smaller the difference, the higher the score.
    """

    def __init__(self, images: int, width: int) -> None:
        """All remembered images are grey at first."""
        super().__init__()
        self.memory = nn.Embedding(images, 3 * SIZE * SIZE, sparse=True)
        nn.init.zeros_(self.memory.weight)
        self.filters = orthogonal(
            nn.Conv2d(3, width, 3, padding=1, bias=False)
        )  # orthogonal: all colours weigh the same
        self.offset = nn.Parameter(torch.ones(()))
        self.sharpness = nn.Parameter(torch.full((), 3.0))

    def forward(self, images: Tensor, numbers: Tensor) -> Tensor:
        """The logit (n,) for images (n, 3, 64, 64) to be the training images of these numbers (n,)."""
        difference = images - self.memory(numbers).view_as(images)
        differences = torch.cat([difference, self.filters(difference)], 1)
        return self.offset - self.sharpness.exp() * differences.square().mean((1, 2, 3))


class Velocity(nn.Module):
    """The flow's velocity field: how a code moves at a time between noise and the code of an image."""

    def __init__(self, codes: int, hidden: int = 256) -> None:
        """Two hidden layers; the time is encoded by sines and cosines."""
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(codes + 8, hidden), nn.SiLU(), nn.Linear(hidden, hidden), nn.SiLU(), nn.Linear(hidden, codes)
        )

    def forward(self, codes: Tensor, times: Tensor) -> Tensor:
        """Velocities (n, codes) of codes (n, codes) at times (n, 1) in [0, 1]."""
        waves = [wave(2.0**power * math.pi * times) for power in range(4) for wave in (torch.sin, torch.cos)]
        moved: Tensor = self.layers(torch.cat([codes, *waves], 1))
        return moved
