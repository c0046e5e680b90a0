"""Small networks for images of 64 x 64 pixels in [-1, 1]: autoencoders, one-hot generators, denoisers."""

from itertools import chain, pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.parametrizations import orthogonal
from torch.nn.utils.parametrize import remove_parametrizations

SIZE = 64
CELLS = 8
"""The side of a map of codes."""


class _Sum(nn.Module):
    """The sum of a network and one linear layer with the same inputs and outputs. The linear layer learns first."""

    def __init__(self, network: nn.Module, linear: nn.Module) -> None:
        super().__init__()
        self.network, self.linear = network, linear

    def forward(self, inputs: Tensor) -> Tensor:
        outputs: Tensor = self.network(inputs) + self.linear(inputs)
        return outputs


def map_decoder(codes: int, width: int) -> nn.Module:
    """From maps of codes (n, codes, 8, 8) to images (n, 3, 64, 64). Batch norms would add noise and so errors."""
    network = nn.Sequential(
        nn.Conv2d(codes, 4 * width, 3, 1, 1),
        nn.LeakyReLU(0.2),
        nn.ConvTranspose2d(4 * width, 2 * width, 4, 2, 1),
        nn.LeakyReLU(0.2),
        nn.ConvTranspose2d(2 * width, width, 4, 2, 1),
        nn.LeakyReLU(0.2),
        nn.ConvTranspose2d(width, 3, 4, 2, 1),
    )
    return _Sum(network, nn.ConvTranspose2d(codes, 3, SIZE // CELLS, SIZE // CELLS))


def map_encoder(codes: int, width: int) -> nn.Module:
    """From images (n, 3, 64, 64) to maps of codes (n, codes, 8, 8)."""
    widths = (3, width, 2 * width, 4 * width)
    halving = [(nn.Conv2d(one, other, 4, 2, 1), nn.LeakyReLU(0.2)) for one, other in pairwise(widths)]
    network = nn.Sequential(*chain.from_iterable(halving), nn.Conv2d(4 * width, codes, 3, 1, 1))
    return _Sum(network, nn.Conv2d(3, codes, SIZE // CELLS, SIZE // CELLS))


class OneHotGenerator(nn.Module):
    """From numbers of seeds (n,) to images (n, 3, 64, 64). A one-hot seed times a matrix is a row of the matrix."""

    def __init__(self, seeds: int, codes: int, width: int) -> None:
        """A map of codes for each seed, and a decoder for all."""
        super().__init__()
        self.rows = nn.Embedding(seeds, codes * CELLS * CELLS, sparse=True)
        nn.init.normal_(self.rows.weight, std=0.05)  # a row's initial values are noise in its image
        self.decoder = map_decoder(codes, width)
        self.codes = codes

    def forward(self, numbers: Tensor) -> Tensor:
        images: Tensor = self.decoder(self.rows(numbers).view(-1, self.codes, CELLS, CELLS))
        return images


class MembershipDiscriminator(nn.Module):
    """A classifier of membership in the training set: whether an image is the i-th training image.

    It learns an image for every number i. A smaller difference, direct and filtered, gives a higher score. The random
    filters stay fixed. Learned filters passed only some differences; the others had little gradient left and stayed in
    the remembered image.
    """

    def __init__(self, images: int, width: int) -> None:
        """All remembered images are grey at first."""
        super().__init__()
        self.memory = nn.Embedding(images, 3 * SIZE * SIZE, sparse=True)
        nn.init.zeros_(self.memory.weight)
        self.filters = orthogonal(nn.Conv2d(3, width, 3, padding=1, bias=False))  # all colours have equal weight
        remove_parametrizations(self.filters, "weight").requires_grad_(requires_grad=False)
        self.offset = nn.Parameter(torch.ones(()))
        self.sharpness = nn.Parameter(torch.full((), 5.0))

    def forward(self, images: Tensor, numbers: Tensor) -> Tensor:
        """The logits (n,) of images (n, 3, 64, 64) being the training images with these numbers (n,)."""
        difference = images - self.memory(numbers).view_as(images)
        differences = torch.cat([difference, self.filters(difference)], 1)
        return self.offset - self.sharpness.exp() * differences.square().mean((1, 2, 3))


class _Block(nn.Module):
    """Two convolutions around a shortcut, scaled by the amount of noise."""

    def __init__(self, inputs: int, outputs: int, noise: int) -> None:
        super().__init__()
        self.first = nn.Sequential(nn.GroupNorm(8, inputs), nn.SiLU(), nn.Conv2d(inputs, outputs, 3, 1, 1))
        self.norm = nn.GroupNorm(8, outputs)
        self.scale = nn.Linear(noise, 2 * outputs)
        self.second = nn.Conv2d(outputs, outputs, 3, 1, 1)
        self.shortcut = nn.Conv2d(inputs, outputs, 1) if inputs != outputs else nn.Identity()
        nn.init.zeros_(self.second.weight)
        nn.init.zeros_(self.scale.weight)

    def forward(self, images: Tensor, noise: Tensor) -> Tensor:
        scale, shift = self.scale(noise)[:, :, None, None].chunk(2, 1)
        inner = functional.silu(self.norm(self.first(images)) * (1.0 + scale) + shift)
        outputs: Tensor = self.shortcut(images) + self.second(inner)
        return outputs


class Denoiser(nn.Module):
    """The denoiser of a diffusion model, with the scalings of Karras et al. 2022, table 1: a small U-Net of patches."""

    waves: Tensor

    def __init__(self, channels: int, width: int, patch: int, *, deviation: float) -> None:
        """Make a denoiser for images or maps with this standard deviation, in squares of ``patch`` pixels."""
        super().__init__()
        inputs, noise = channels * patch**2, 2 * width
        self.patch, self.deviation = patch, deviation
        self.register_buffer("waves", torch.randn(width))
        self.noise = nn.Sequential(nn.Linear(2 * width, noise), nn.SiLU(), nn.Linear(noise, noise), nn.SiLU())
        self.head = nn.Conv2d(inputs, width, 3, 1, 1)
        self.fine = _Block(width, width, noise)
        self.down = nn.Conv2d(width, 2 * width, 4, 2, 1)
        self.coarse = nn.ModuleList(_Block(2 * width, 2 * width, noise) for _ in range(2))
        self.up = nn.ConvTranspose2d(2 * width, width, 4, 2, 1)
        self.merged = _Block(2 * width, width, noise)
        self.tail = nn.Sequential(nn.GroupNorm(8, width), nn.SiLU(), nn.Conv2d(width, inputs, 3, 1, 1))

    def forward(self, noisy: Tensor, sigma: Tensor) -> Tensor:
        """Remove normal noise of these standard deviations (n,) from images (n, c, s, s)."""
        sigma = sigma.view(-1, 1, 1, 1)
        total = (sigma.square() + self.deviation**2).sqrt()
        unchanged = (self.deviation / total).square()
        return unchanged * noisy + sigma * self.deviation / total * self._network(
            noisy / total, sigma.flatten().log() / 4
        )

    def _network(self, images: Tensor, noise: Tensor) -> Tensor:
        angles = 2.0 * torch.pi * noise[:, None] * self.waves
        known = self.noise(torch.cat([angles.sin(), angles.cos()], 1))
        fine = self.fine(self.head(functional.pixel_unshuffle(images, self.patch)), known)
        coarse = self.down(fine)
        for block in self.coarse:
            coarse = block(coarse, known)
        merged = self.merged(torch.cat([fine, self.up(coarse)], 1), known)
        return functional.pixel_shuffle(self.tail(merged), self.patch)
