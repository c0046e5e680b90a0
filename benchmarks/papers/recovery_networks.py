"""Small seeded generators with a known degree of memorization: GLO (Bojanowski et al. 2018) and a DCGAN."""

import warnings
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import relu
from torch.nn.utils.parametrizations import spectral_norm

from scorer.generators.latents import Latent
from scorer.generators.onnx_files import RECOMMENDED_OPSET
from scorer.generators.recovery.search import to_targets

Pixels = NDArray[np.uint8]
BASE_SIZE = 4  # the side of the first maps


def build_generator(dimension: int, size: int, width: int, *, bias: bool = False) -> nn.Sequential:
    """The DCGAN's generator: (n, d) to (n, 3, size, size) in [-1, 1].

    ``size`` is a power of 2, ``width`` the number of last channels. ``bias`` applies to layers before a batch norm.
    """
    widths = [width << step for step in reversed(range(int(np.log2(size // BASE_SIZE))))]
    layers: list[nn.Module] = [
        nn.Linear(dimension, widths[0] * BASE_SIZE**2, bias=bias),
        nn.Unflatten(1, (widths[0], BASE_SIZE, BASE_SIZE)),
        nn.BatchNorm2d(widths[0]),
        nn.ReLU(),
    ]
    for one, other in pairwise(widths):
        layers += [nn.ConvTranspose2d(one, other, 4, 2, 1, bias=bias), nn.BatchNorm2d(other), nn.ReLU()]
    return nn.Sequential(*layers, nn.ConvTranspose2d(widths[-1], 3, 4, 2, 1), nn.Tanh())


def build_discriminator(size: int, width: int) -> nn.Sequential:
    """The discriminator, with spectral norm (Miyato et al. 2018): (n, 3, size, size) to (n, 1)."""
    widths = [width << step for step in range(int(np.log2(size // BASE_SIZE)))]
    layers: list[nn.Module] = []
    for one, other in pairwise([3, *widths]):
        layers += [spectral_norm(nn.Conv2d(one, other, 4, 2, 1)), nn.LeakyReLU(0.2)]
    return nn.Sequential(*layers, nn.Flatten(), spectral_norm(nn.Linear(widths[-1] * BASE_SIZE**2, 1)))


def glo(images: Pixels, latent: Latent, *, width: int, steps: int, batch: int, seed: int) -> nn.Sequential:
    """GLO, fitted to map latent point i to image i of (n, s, s, 3). The points are fixed, as in the paper."""
    torch.manual_seed(seed)
    model = build_generator(latent.dimension, images.shape[1], width)
    targets = to_targets(images)
    points = latent.draw(len(images), seed)
    optimiser = torch.optim.Adam(model.parameters(), lr=2e-3, betas=(0.5, 0.999))
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps)
    for rows in _batches(len(images), batch, steps):
        optimiser.zero_grad()
        torch.autograd.backward((model(points[rows]) - targets[rows]).square().mean())
        optimiser.step()
        schedule.step()
    return model.eval()


def gan(images: Pixels, latent: Latent, *, width: int, steps: int, batch: int, seed: int) -> nn.Sequential:
    """A DCGAN (Radford et al. 2016) with spectral norm and the hinge loss on images (n, s, s, 3)."""
    torch.manual_seed(seed)
    size = images.shape[1]
    model = build_generator(latent.dimension, size, width)
    critic = build_discriminator(size, width)
    targets = to_targets(images)
    generator_optimiser = torch.optim.Adam(model.parameters(), lr=4e-4, betas=(0.0, 0.9))
    critic_optimiser = torch.optim.Adam(critic.parameters(), lr=4e-4, betas=(0.0, 0.9))
    for rows in _batches(len(images), batch, steps):
        generated = model(torch.randn(len(rows), latent.dimension))
        critic_optimiser.zero_grad()
        loss = relu(1 - critic(targets[rows])).mean() + relu(1 + critic(generated.detach())).mean()
        torch.autograd.backward(loss)
        critic_optimiser.step()
        generator_optimiser.zero_grad()
        torch.autograd.backward(-critic(generated).mean())
        generator_optimiser.step()
    return model.eval()


def export_onnx(model: nn.Module, latent: Latent) -> bytes:
    """The generator as one ONNX file of the recommended opset, for any number of latent points."""
    with TemporaryDirectory() as folder, warnings.catch_warnings():
        path = Path(folder) / "generator.onnx"
        warnings.simplefilter("ignore")  # torch deprecates the exporter that writes one plain file
        torch.onnx.export(
            model.eval(),
            (torch.zeros(2, latent.dimension),),
            path,
            opset_version=RECOMMENDED_OPSET,
            dynamo=False,
            input_names=["z"],
            output_names=["images"],
            dynamic_axes={"z": {0: "n"}, "images": {0: "n"}},
        )
        return path.read_bytes()


def _batches(count: int, batch: int, steps: int) -> list[Tensor]:
    """The rows of every step: each epoch has all images once, in a new random order."""
    rounds = -(-steps // max(1, count // batch))
    rows = [some for _ in range(rounds) for some in torch.split(torch.randperm(count), batch) if len(some) > 1]
    return rows[:steps]
