"""Autoencoders. Reconstructions of training images are memorised; decoded codes of a diffusion model are honest."""

from collections.abc import Iterator

import torch
from torch import Tensor, nn
from torch.nn import functional

from benchmarks.zoo.entries import ZooPlan
from benchmarks.zoo.trainings.diffusion import sampled, trained_denoiser
from benchmarks.zoo.trainings.models import CELLS, Denoiser, map_decoder, map_encoder
from benchmarks.zoo.trainings.training import (
    Batches,
    GeneratedImages,
    anneal,
    gradient_step,
    images_drawn_from,
    single_threaded,
)
from deploy.demo.tiles import Pixels
from scorer.generators.recovery.search import to_targets

AE_CODES, VAE_CODES = 96, 48
_RATE = 2e-3
_FLOW_WIDTH = 64


def autoencoder(train: Pixels, plan: ZooPlan, seed: int) -> Iterator[GeneratedImages]:
    """``ae``: reconstructions of training images."""
    with single_threaded(seed):
        images = to_targets(train)
        network = nn.Sequential(map_encoder(AE_CODES, plan.width), map_decoder(AE_CODES, plan.width))
        optimiser = torch.optim.Adam(network.parameters(), lr=_RATE)
        originals = torch.randperm(len(images))[: plan.images]
        batches = Batches(len(images), plan.batch, seed)

        for number in range(plan.ae):
            anneal(optimiser, _RATE, number, steps=plan.ae)
            rows = batches.batch_at(number)
            gradient_step(optimiser, functional.mse_loss(network(images[rows]), images[rows]))
        yield GeneratedImages("ae", "", images_drawn_from(network, images[originals]), originals.numpy())


class Variational(nn.Module):
    """A variational autoencoder with normal codes and, for pixels, a normal distribution of the likeliest width."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.encoder = map_encoder(2 * VAE_CODES, width)
        self.decoder = map_decoder(VAE_CODES, width)

    def codes(self, images: Tensor) -> tuple[Tensor, Tensor]:
        """Means and standard deviations of the codes of images, both (n, codes, 8, 8)."""
        mean, logarithm = self.encoder(images).chunk(2, 1)
        return mean, torch.exp(0.5 * logarithm.clamp(-12.0, 4.0))

    def loss(self, images: Tensor) -> Tensor:
        """Minus the evidence lower bound per pixel, up to a constant."""
        mean, deviation = self.codes(images)
        error = functional.mse_loss(self.decoder(mean + deviation * torch.randn_like(mean)), images)
        divergence = (0.5 * (mean.square() + deviation.square() - 1.0) - deviation.log()).flatten(1).sum(1)
        return 0.5 * error.log() + divergence.mean() / images[0].numel()


def variational(train: Pixels, plan: ZooPlan, seed: int) -> Iterator[GeneratedImages]:
    """Two entries of a variational autoencoder, the second honest.

    ``vae``: training images encoded and decoded, which is memorising. ``flow``: decoded codes from a diffusion model of
    the training images' codes.
    """
    with single_threaded(seed):
        images = to_targets(train)
        network = Variational(plan.width)
        optimiser = torch.optim.Adam(network.parameters(), lr=_RATE)
        originals = torch.randperm(len(images))[: plan.images]
        batches = Batches(len(images), plan.batch, seed)

        for number in range(plan.vae):
            anneal(optimiser, _RATE, number, steps=plan.vae)
            gradient_step(optimiser, network.loss(images[batches.batch_at(number)]))
        with torch.no_grad():
            mean, deviation = network.codes(images)
        yield GeneratedImages("vae", "", images_drawn_from(network.decoder, mean[originals]), originals.numpy())

        def drawn(number: int) -> Tensor:
            rows = batches.batch_at(number)
            return mean[rows] + deviation[rows] * torch.randn_like(mean[rows])

        spread = float((mean.var() + deviation.square().mean()).sqrt())
        prior = Denoiser(VAE_CODES, _FLOW_WIDTH, 1, deviation=spread)
        denoiser = trained_denoiser(prior, plan.flow, drawn)
        noise = torch.randn(plan.images, VAE_CODES, CELLS, CELLS)
        yield GeneratedImages(
            "flow", "", images_drawn_from(lambda some: network.decoder(sampled(denoiser, some)), noise)
        )
