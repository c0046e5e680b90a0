"""Shared parts of all trainings: images as tensors and back, seeded weights, batches in random order."""

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
    """An entry: its method, its strength (epochs or alteration), and its images (n, s, s, 3) uint8."""

    method: str
    strength: str
    images: Pixels


Training = Callable[[Pixels, ZooPlan, int], Iterator[GeneratedImages]]
"""A training: from training images (m, s, s, 3) uint8, a plan and a seed to entries."""


def tensor_of(images: Pixels) -> Tensor:
    """Images (n, s, s, 3) uint8 as (n, 3, s, s) float32 in [-1, 1]."""
    return torch.from_numpy(images).permute(0, 3, 1, 2).float().div_(127.5).sub_(1.0).contiguous()


def pixels_of(images: Tensor) -> Pixels:
    """Images (n, 3, s, s) in [-1, 1] as (n, s, s, 3) uint8, rounded and clipped."""
    levels = (images.permute(0, 2, 3, 1) * 127.5 + 127.5).round().clamp(0, 255)
    return np.ascontiguousarray(levels.to(torch.uint8).numpy())


@contextmanager
def single_threaded(seed: int) -> Iterator[None]:
    """Run torch with one thread and this seed; both are restored afterwards."""
    threads = torch.get_num_threads()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        torch.set_num_threads(1)  # layers this small take longer on more
        try:
            yield
        finally:
            torch.set_num_threads(threads)


def batches(count: int, size: int) -> Iterator[Tensor]:
    """The numbers below ``count`` in random order in batches of ``size``; a smaller last batch is left out."""
    for rows in torch.split(torch.randperm(count), size):
        if len(rows) == size or count < size:  # batch norm needs more than one image
            yield rows


def epochs(network: nn.Module, ends: tuple[int, ...], epoch: Callable[[], None]) -> Iterator[int]:
    """Train by ``epoch`` up to the last of ``ends``; yield each of them with the network in evaluation mode."""
    for number in range(1, max(ends) + 1):
        network.train()
        epoch()
        if number in ends:
            network.eval()
            yield number


@torch.no_grad()
def images_drawn_from(network: Callable[[Tensor], Tensor], inputs: Tensor) -> Pixels:
    """A network's images of inputs (n, ...), as pixels (n, s, s, 3) uint8."""
    return np.concatenate([pixels_of(network(some)) for some in torch.split(inputs, _BATCH_SIZE)])


def gradient_step(optimiser: torch.optim.Optimizer, loss: Tensor) -> None:
    """One gradient step of the optimiser."""
    optimiser.zero_grad()
    torch.autograd.backward(loss)
    optimiser.step()
