"""Autoencoders: reconstructions of training images are memorised entries, decoded noise is an honest one."""

from collections.abc import Iterator

import torch
from torch import Tensor, nn
from torch.nn import functional

from benchmarks.zoo.models import Velocity, decoder, encoder
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

AE_CODES, VAE_CODES = 256, 64
_FLOW_BATCH, _FLOW_STEPS = 128, 40


def autoencoder(train: Pixels, plan: ZooPlan, seed: int) -> Iterator[GeneratedImages]:
    """``ae``: reconstructions of training images."""
    with single_threaded(seed):
        images = tensor_of(train)
        network = nn.Sequential(encoder(AE_CODES, plan.width), decoder(AE_CODES, plan.width))
        optimiser = torch.optim.Adam(network.parameters(), lr=2e-3)
        originals = images[torch.randperm(len(images))[: plan.images]]

        def epoch() -> None:
            for rows in batches(len(images), plan.batch):
                gradient_step(optimiser, functional.mse_loss(network(images[rows]), images[rows]))

        for number in epochs(network, plan.ae, epoch):
            yield GeneratedImages("ae", f"{number} epochs", images_drawn_from(network, originals))


class Variational(nn.Module):
    """A variational autoencoder with normal codes and, for pixels, a normal distribution of the likeliest width."""

    def __init__(self, width: int) -> None:
        """Codes of :data:`VAE_CODES` numbers."""
        super().__init__()
        self.encoder = encoder(2 * VAE_CODES, width)
        self.decoder = decoder(VAE_CODES, width)

    def codes(self, images: Tensor) -> tuple[Tensor, Tensor]:
        """Means and standard deviations of the codes of images, both (n, codes)."""
        mean, logarithm = self.encoder(images).chunk(2, 1)
        return mean, torch.exp(0.5 * logarithm.clamp(-12.0, 4.0))

    def loss(self, images: Tensor) -> Tensor:
        """Minus the evidence lower bound per image, up to a constant."""
        mean, deviation = self.codes(images)
        error = functional.mse_loss(self.decoder(mean + deviation * torch.randn_like(mean)), images)
        divergence = 0.5 * (mean.square() + deviation.square() - 1.0).sum(1) - deviation.log().sum(1)
        return 0.5 * images[0].numel() * error.log() + divergence.mean()


def variational(train: Pixels, plan: ZooPlan, seed: int) -> Iterator[GeneratedImages]:
    """Three entries of a variational autoencoder, the last two honest.

    ``vae``: training images encoded and decoded, which is memorising. ``vae random``: codes drawn from the prior.
    ``flow``: codes drawn by a flow trained on the distribution of the training images' codes.
    """
    with single_threaded(seed):
        images = tensor_of(train)
        network = Variational(plan.width)
        optimiser = torch.optim.Adam(network.parameters(), lr=2e-3)
        originals = images[torch.randperm(len(images))[: plan.images]]

        def epoch() -> None:
            for rows in batches(len(images), plan.batch):
                gradient_step(optimiser, network.loss(images[rows]))

        for number in epochs(network, plan.vae, epoch):
            strength = f"{number} epochs"
            with torch.no_grad():
                known = network.codes(images)
                means = network.codes(originals)[0]
            random = torch.randn(plan.images, VAE_CODES)
            yield GeneratedImages("vae", strength, images_drawn_from(network.decoder, means))
            yield GeneratedImages("vae random", strength, images_drawn_from(network.decoder, random))
            yield GeneratedImages("flow", strength, images_drawn_from(network.decoder, _sample_flow(*known, plan)))


def _sample_flow(mean: Tensor, deviation: Tensor, plan: ZooPlan) -> Tensor:
    """New codes (plan.images, codes) from a flow on straight paths from noise (Lipman et al. 2023).

    It is trained on codes drawn around the means (n, codes) with the encoder's deviations (n, codes).
    """
    velocity = Velocity(mean.shape[1])
    optimiser = torch.optim.Adam(velocity.parameters(), lr=1e-3)
    for _ in range(plan.flow):
        rows = torch.randint(len(mean), (_FLOW_BATCH,))
        end = mean[rows] + deviation[rows] * torch.randn(_FLOW_BATCH, mean.shape[1])
        start = torch.randn_like(end)
        times = torch.rand(_FLOW_BATCH, 1)
        points = start + times * (end - start)
        gradient_step(optimiser, functional.mse_loss(velocity(points, times), end - start))
    codes = torch.randn(plan.images, mean.shape[1])
    with torch.no_grad():
        for step in range(_FLOW_STEPS):
            codes = codes + velocity(codes, torch.full((len(codes), 1), step / _FLOW_STEPS)) / _FLOW_STEPS
    return codes
