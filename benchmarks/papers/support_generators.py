"""Honest generators and tables of their images, for the benchmark of support sizes.

The networks draw 32 x 32 pixels, enlarged, as in the starter kit.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter, map_coordinates
from torch import Tensor, nn
from torch.nn.functional import interpolate

from benchmarks.papers.recovery_networks import build_generator, gan
from kennel_client.starter_kit import baseline
from scorer.generators.latents import Latent
from scorer.generators.recovery.search import to_pixels, to_targets

Pixels = NDArray[np.uint8]
Levels = NDArray[np.float64]
Alteration = Callable[[Levels, np.random.Generator], Levels]
LATENT, SIZE, SMALL = 64, 64, 32
WIDTH, BATCH = 16, 32
NOISE, SHIFT, BRIGHTNESS, CONTRAST = 4.0, 4, 20.0, 0.15
"""Grey levels; pixels; grey levels; a share."""


def mixture(train: Pixels, count: int, seed: int) -> Pixels:
    """Images of the starter kit's mixture."""
    model = baseline.mixture(np.divide(train, 255, dtype=np.float32), np.random.default_rng(seed), 0.0)
    return np.concatenate(list(baseline.batches(model.sample, count)))


def train_gan(train: Pixels, steps: int, seed: int) -> nn.Module:
    return gan(_shrunk(train), Latent(LATENT), width=WIDTH, steps=steps, batch=BATCH, seed=seed)


def train_vae(train: Pixels, steps: int, seed: int) -> nn.Module:
    """The decoder of a variational autoencoder (Kingma and Welling 2014), with pixels of the likeliest variance."""
    torch.manual_seed(seed)
    decoder = build_generator(LATENT, SMALL, WIDTH)
    maps = [(3, WIDTH), (WIDTH, 2 * WIDTH), (2 * WIDTH, 4 * WIDTH)]
    halvings = [layer for one, other in maps for layer in (nn.Conv2d(one, other, 4, 2, 1), nn.LeakyReLU(0.2))]
    encoder = nn.Sequential(*halvings, nn.Flatten(), nn.Linear(4 * WIDTH * (SMALL // 8) ** 2, 2 * LATENT))
    optimiser = torch.optim.Adam([*decoder.parameters(), *encoder.parameters()], lr=1e-3)
    targets = to_targets(_shrunk(train))
    for _ in range(steps):
        images = targets[torch.randint(len(targets), (BATCH,))]
        mean, logarithm = encoder(images).chunk(2, 1)
        logarithm = logarithm.clamp(-12.0, 4.0)
        drawn = decoder(mean + torch.exp(0.5 * logarithm) * torch.randn_like(mean))
        divergence = 0.5 * (mean.square() + logarithm.exp() - 1.0 - logarithm).sum(1).mean()
        loss = 0.5 * (drawn - images).square().mean().log() + divergence / images[0].numel()
        optimiser.zero_grad()
        torch.autograd.backward(loss)
        optimiser.step()
    return decoder.eval()


def network_images(network: nn.Module, latents: NDArray[Any]) -> Pixels:
    with torch.inference_mode():
        batches = torch.split(torch.from_numpy(latents.astype(np.float32)), 100)
        return np.concatenate([to_pixels(_enlarged(network(batch))) for batch in batches])


def _enlarged(images: Tensor) -> Tensor:
    return interpolate(images, SIZE, mode="bilinear", antialias=True)


def _shrunk(images: Pixels) -> Pixels:
    factor = SIZE // SMALL
    means = images.reshape(-1, SMALL, factor, SMALL, factor, 3).mean((2, 4))
    shrunk: Pixels = np.rint(means).astype(np.uint8)
    return shrunk


def collapsed_latents(random: np.random.Generator, modes: int, count: int) -> tuple[NDArray[Any], float]:
    """Latents close to one of a few, which are drawn with unequal shares, and the effective number of these."""
    shares = random.dirichlet(np.ones(modes))
    means = random.standard_normal((modes, LATENT))[random.choice(modes, size=count, p=shares)]
    return means + 0.05 * random.standard_normal(means.shape), float(1.0 / np.square(shares).sum())


def noisy(images: Levels, random: np.random.Generator) -> Levels:
    return images + random.normal(0.0, NOISE, images.shape)


def shifted(images: Levels, random: np.random.Generator) -> Levels:
    """Shifted by up to :data:`SHIFT` pixels in both directions; edges are repeated."""
    size = images.shape[1]
    padded = np.pad(images, ((0, 0), (SHIFT, SHIFT), (SHIFT, SHIFT), (0, 0)), mode="edge")
    places = random.integers(0, 2 * SHIFT + 1, (len(images), 2))
    return np.stack([image[y : y + size, x : x + size] for image, (y, x) in zip(padded, places, strict=True)])


def mirrored(images: Levels, random: np.random.Generator) -> Levels:
    turned = random.random((len(images), 1, 1, 1)) < 0.5
    return np.where(turned, images[:, :, ::-1], images)


def recoloured(images: Levels, random: np.random.Generator) -> Levels:
    """With another brightness and contrast."""
    factor = random.uniform(1.0 - CONTRAST, 1.0 + CONTRAST, (len(images), 1, 1, 1))
    return (images - 128.0) * factor + 128.0 + random.uniform(-BRIGHTNESS, BRIGHTNESS, factor.shape)


def everything(images: Levels, random: np.random.Generator) -> Levels:
    for alteration in (shifted, mirrored, recoloured, noisy):
        images = alteration(images, random)
    return images


def rotated(images: Levels, random: np.random.Generator, degrees: float) -> Levels:
    """Turned by up to this angle about the centre."""
    angles = np.deg2rad(random.uniform(-degrees, degrees, len(images)))
    rows, columns = _centred_places(images.shape[1])
    turned = [
        (rows * np.cos(angle) - columns * np.sin(angle), rows * np.sin(angle) + columns * np.cos(angle))
        for angle in angles
    ]
    return _resampled(images, np.array(turned))


def zoomed(images: Levels, random: np.random.Generator, share: float) -> Levels:
    """Magnified by up to this share."""
    factors = 1.0 / random.uniform(1.0, 1.0 + share, (len(images), 1, 1, 1))
    return _resampled(images, factors * _centred_places(images.shape[1]))


def warped(images: Levels, random: np.random.Generator, pixels: float) -> Levels:
    """With each pixel moved by a smooth random field of this root mean square."""
    places = _centred_places(images.shape[1])
    return _resampled(images, places + _smooth_fields(random, (len(images), 2, *places.shape[1:]), pixels))


def clouded(images: Levels, random: np.random.Generator, levels: float) -> Levels:
    """With smooth noise of this root mean square in each colour."""
    fields = _smooth_fields(random, (len(images), 3, *images.shape[1:3]), levels)
    return images + fields.transpose(0, 2, 3, 1)


def _centred_places(size: int) -> Levels:
    return np.mgrid[:size, :size] - (size - 1) / 2.0


def _smooth_fields(random: np.random.Generator, shape: tuple[int, ...], deviation: float) -> Levels:
    fields = gaussian_filter(random.standard_normal(shape), (0.0, 0.0, shape[2] / 8, shape[3] / 8), mode="wrap")
    smooth: Levels = deviation * fields / fields.std(axis=(2, 3), keepdims=True)
    return smooth


def _resampled(images: Levels, places: Levels) -> Levels:
    """Images (n, s, s, 3) at places (n, 2, s, s), counted from the centre."""
    places = places + (images.shape[1] - 1) / 2.0
    return np.stack(
        [
            np.stack([map_coordinates(image[:, :, colour], place, order=1, mode="nearest") for colour in range(3)], 2)
            for image, place in zip(images, places, strict=True)
        ]
    )


ALTERATIONS: Mapping[str, Alteration] = MappingProxyType(
    {
        "noise": noisy,
        "shifts": shifted,
        "mirroring": mirrored,
        "brightness": recoloured,
        "all": everything,
    }
)
OTHER_ALTERATIONS: Mapping[str, Alteration] = MappingProxyType(
    {
        "rotated by up to 5 degrees": lambda images, random: rotated(images, random, 5.0),
        "rotated by up to 15 degrees": lambda images, random: rotated(images, random, 15.0),
        "magnified by up to 10 %": lambda images, random: zoomed(images, random, 0.1),
        "magnified by up to 30 %": lambda images, random: zoomed(images, random, 0.3),
        "warped by 1 pixel": lambda images, random: warped(images, random, 1.0),
        "warped by 3 pixels": lambda images, random: warped(images, random, 3.0),
        "smooth noise of 10 grey levels": lambda images, random: clouded(images, random, 10.0),
        "smooth noise of 25 grey levels": lambda images, random: clouded(images, random, 25.0),
    }
)


def altered(images: Pixels, alteration: Alteration, random: np.random.Generator) -> Pixels:
    return np.clip(np.rint(alteration(images.astype(np.float64), random)), 0, 255).astype(np.uint8)
