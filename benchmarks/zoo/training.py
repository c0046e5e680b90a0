"""What all trainings share: images as tensors and back, seeded weights, batches in random order."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from benchmarks.zoo.plan import ZooPlan
from deploy.demo.tiles import Pixels

_BATCH_SIZE = 100


@dataclass(frozen=True, eq=False)
class GeneratedImages:
    """An entry: the method that made it, how far or how strongly, and its images (n, s, s, 3) uint8."""

    method: str
    strength: str
    images: Pixels


Training = Callable[[Pixels, ZooPlan, int], Iterator[GeneratedImages]]
"""From the training images (m, s, s, 3) uint8, a plan and a seed: one entry after the other."""


def tensor_of(images: Pixels) -> Tensor:
    """Images (n, s, s, 3) uint8 as (n, 3, s, s) float32 in [-1, 1]."""
    return torch.from_numpy(images).permute(0, 3, 1, 2).float().div_(127.5).sub_(1.0).contiguous()


def pixels_of(images: Tensor) -> Pixels:
    """Images (n, 3, s, s) in [-1, 1] as (n, s, s, 3) uint8, rounded and clipped."""
    levels = (images.permute(0, 2, 3, 1) * 127.5 + 127.5).round().clamp(0, 255)
    return np.ascontiguousarray(levels.to(torch.uint8).numpy())


@contextmanager
def single_threaded(seed: int) -> Iterator[None]:
    """One thread, and torch's randomness from this seed; both as they were afterwards."""
    threads = torch.get_num_threads()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        torch.set_num_threads(1)  # layers this small take longer on more
        try:
            yield
        finally:
            torch.set_num_threads(threads)


def batches(count: int, size: int) -> Iterator[Tensor]:
    """The numbers below ``count`` in random order, ``size`` at a time and, but for the last, no fewer."""
    for rows in torch.split(torch.randperm(count), size):
        if len(rows) == size or count < size:  # of a single image there is no batch norm
            yield rows


def epochs(network: nn.Module, ends: tuple[int, ...], epoch: Callable[[], None]) -> Iterator[int]:
    """Train by ``epoch`` up to the last of ``ends``, and stop at each for somebody to draw from the network."""
    for number in range(1, max(ends) + 1):
        network.train()
        epoch()
        if number in ends:
            network.eval()
            yield number


@torch.no_grad()
def images_drawn_from(network: Callable[[Tensor], Tensor], inputs: Tensor) -> Pixels:
    """What a network makes of its inputs (n, ...), as pixels."""
    return np.concatenate([pixels_of(network(some)) for some in torch.split(inputs, _BATCH_SIZE)])


def gradient_step(optimiser: torch.optim.Optimizer, loss: Tensor) -> None:
    """One step down."""
    optimiser.zero_grad()
    torch.autograd.backward(loss)
    optimiser.step()
