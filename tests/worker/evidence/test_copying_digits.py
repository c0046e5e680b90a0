"""Small versions of the paper's experiments with digits: kernel densities and autoencoders, from copying to blurring.

They use scikit-learn's 8 x 8 digits instead of MNIST, and principal components instead of a perceptual embedding.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.neighbors import KernelDensity
from torch import Tensor, nn

from scorer.metrics.copying.data_copying import CopyingReference, DataCopying, copying_reference, data_copying

pytestmark = pytest.mark.slow

Images = NDArray[np.float64]
EPOCHS, BATCH = 1000, 100


@dataclass(frozen=True)
class Digits:
    """Images (n, 64) in [0, 1]: 900 for training, 450 held out, 447 for validation."""

    training: Images
    validation: Images
    reference: CopyingReference

    def score(self, generated: Images) -> DataCopying:
        return data_copying(generated, self.reference)


@pytest.fixture(scope="module")
def digits() -> Digits:
    images = load_digits().data / 16.0
    images = images[np.random.default_rng(0).permutation(len(images))]
    training, held_out = images[:900], images[900:1350]
    return Digits(training, images[1350:], copying_reference(training, held_out, seed=0))


def c_t(copying: DataCopying) -> float:
    assert copying.c_t is not None
    return copying.c_t


def test_held_out_digits_are_no_copies(digits: Digits) -> None:
    copying = digits.score(digits.validation)
    assert len(digits.reference.partition) >= 8
    assert copying.c_t_error is not None
    assert abs(c_t(copying)) < 3 * copying.c_t_error


def test_kernel_densities_turn_from_copies_to_blur_near_the_likeliest(digits: Digits) -> None:
    bandwidths = np.geomspace(0.02, 1.0, 20)
    densities = [KernelDensity(bandwidth=bandwidth).fit(digits.training) for bandwidth in bandwidths]
    scores = [c_t(digits.score(density.sample(900, random_state=1))) for density in densities]
    held_out = [density.score(digits.validation) / len(digits.validation) for density in densities]
    gaps = [density.score(digits.training) / 900 - other for density, other in zip(densities, held_out, strict=True)]
    turn = next(number for number, score in enumerate(scores) if score > 0)
    assert scores[0] < -9.0
    assert scores[-1] > 9.0
    assert all(score < 0 for score in scores[:turn])
    assert all(score > 0 for score in scores[turn:])
    # As with the paper's digits, the likeliest density counts as slightly copied, and the turn is close to it.
    assert 0 < np.log(bandwidths[turn] / bandwidths[int(np.argmax(held_out))]) < np.log(1.6)
    assert gaps == sorted(gaps, reverse=True)
    assert gaps[0] > 100
    assert gaps[-1] < 1


class Autoencoder(nn.Module):
    """A variational autoencoder with three hidden layers, each half as wide as the previous, and binary
    cross-entropy."""

    def __init__(self, latent: int) -> None:
        super().__init__()
        self.latent = latent
        widths = [64, 8 * latent, 4 * latent, 2 * latent]
        self.encoder = nn.Sequential(*stacked(widths), nn.Linear(2 * latent, 2 * latent))
        self.decoder = nn.Sequential(*stacked([latent, *widths[:0:-1]]), nn.Linear(8 * latent, 64))

    def bounds(self, images: Tensor) -> Tensor:
        """The evidence lower bound of every image, with one draw."""
        mean, logarithm = self.encoder(images).chunk(2, 1)
        code = mean + torch.randn_like(mean) * (logarithm / 2).exp()
        lost = nn.functional.binary_cross_entropy_with_logits(self.decoder(code), images, reduction="none").sum(1)
        divergence = -0.5 * (1 + logarithm - mean**2 - logarithm.exp()).sum(1)
        return torch.sub(-lost, divergence)

    @torch.no_grad()
    def evidence(self, images: Images) -> float:
        """The mean bound over ten draws."""
        return float(np.mean([float(self.bounds(to_tensor(images)).mean()) for _ in range(10)]))

    @torch.no_grad()
    def sample(self, count: int) -> Images:
        """Decode normal codes."""
        return np.asarray(torch.sigmoid(self.decoder(torch.randn(count, self.latent))), np.float64)


def stacked(widths: list[int]) -> list[nn.Module]:
    return [layer for one, other in pairwise(widths) for layer in (nn.Linear(one, other), nn.ReLU())]


def to_tensor(images: Images) -> Tensor:
    return torch.from_numpy(images.astype(np.float32))


def trained(latent: int, images: Images) -> Autoencoder:
    torch.manual_seed(0)
    model = Autoencoder(latent)
    rows = to_tensor(images)
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(EPOCHS):
        for some in torch.split(torch.randperm(len(rows)), BATCH):
            optimiser.zero_grad()
            torch.autograd.backward(-model.bounds(rows[some]).mean())
            optimiser.step()
    return model


@pytest.mark.timeout(1800)
def test_wider_autoencoders_come_closer_to_the_training_digits(digits: Digits) -> None:
    """C_T falls with the width, from far above 0 to below 0. The gap between the bounds hardly changes."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # layers this small are slower on more threads
    try:
        models = [trained(latent, digits.training) for latent in (2, 4, 8)]
        scores = [c_t(digits.score(model.sample(900))) for model in models]
        gaps = [model.evidence(digits.training) - model.evidence(digits.validation) for model in models]
    finally:
        torch.set_num_threads(threads)
    assert scores[0] > 3.0
    assert scores[0] > scores[1] + 1.0 > scores[2] + 2.0
    assert scores[2] < -0.6
    assert all(abs(gap) < 1.0 for gap in gaps)
