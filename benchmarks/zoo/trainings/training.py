"""Shared parts of all trainings: seeded weights, batches in random order, rates, drawn images."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import cos, pi
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from benchmarks.zoo.entries import ZooPlan
from deploy.demo.tiles import Pixels
from scorer.generators.recovery.search import to_pixels, to_targets

_DRAWN_AT_ONCE = 100
_WARM_UP = 0.05


@dataclass(frozen=True, eq=False)
class GeneratedImages:
    """An entry: its method, its strength (the alteration, if any), and its images (n, s, s, 3) uint8."""

    method: str
    strength: str
    images: Pixels
    originals: NDArray[np.int64] | None = None
    """The number of the training image for each image that a network was trained to draw again."""


Training = Callable[[Pixels, ZooPlan, int], Iterator[GeneratedImages]]
"""A training: from training images (m, s, s, 3) uint8, a plan and a seed to entries."""


@contextmanager
def single_threaded(seed: int) -> Iterator[None]:
    """Run torch with one thread and this seed. Both are restored afterwards."""
    threads = torch.get_num_threads()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        torch.set_num_threads(1)  # layers this small take longer with more
        try:
            yield
        finally:
            torch.set_num_threads(threads)


class Batches:
    """Batches of the numbers below ``count``. Each epoch has all of them in a different random order."""

    def __init__(self, count: int, size: int, seed: int) -> None:
        """A batch has at most ``size`` numbers."""
        self._count, self._size, self._seed = count, min(size, count), seed
        self._per_epoch = count // self._size
        self._epoch, self._order = -1, torch.empty(0, dtype=torch.int64)

    def batch_at(self, number: int) -> Tensor:
        """The batch of a step, independent of earlier calls."""
        epoch, batch = divmod(number, self._per_epoch)
        if epoch != self._epoch:
            random = torch.Generator().manual_seed(1_000_003 * self._seed + epoch)
            self._epoch, self._order = epoch, torch.randperm(self._count, generator=random)
        return self._order[batch * self._size : (batch + 1) * self._size]


def anneal(optimiser: torch.optim.Optimizer, peak: float, number: int, *, steps: int) -> None:
    """Set the learning rate of a step.

    It rises to ``peak`` within a twentieth of the steps and falls to 0 like a cosine.
    """
    rising = min(1.0, (number + 1) / max(1.0, _WARM_UP * steps))
    for group in optimiser.param_groups:
        group["lr"] = peak * rising * (1.0 + cos(pi * number / steps)) / 2.0


def build_average(network: nn.Module, decay: float) -> AveragedModel:
    """A moving average of a network's weights. Call ``update_parameters`` after each step."""
    return AveragedModel(network, multi_avg_fn=get_ema_multi_avg_fn(decay), use_buffers=True)  # type: ignore[no-untyped-call]


def half_precision() -> torch.autocast:
    """Compute layers in bfloat16, a third faster, for networks that may have larger errors."""
    return torch.autocast("cpu", torch.bfloat16)


@torch.no_grad()
def images_drawn_from(network: Callable[[Tensor], Tensor], inputs: Tensor) -> Pixels:
    """A network's images for inputs (n, ...), as pixels (n, s, s, 3) uint8."""
    return np.concatenate([to_pixels(network(some)) for some in torch.split(inputs, _DRAWN_AT_ONCE)])


def gradient_step(optimiser: torch.optim.Optimizer, loss: Tensor) -> None:
    optimiser.zero_grad()
    torch.autograd.backward(loss)
    optimiser.step()


def draw_training_images(train: Pixels, count: int) -> tuple[Tensor, NDArray[Any]]:
    """Up to ``count`` random training images as a tensor, and their numbers."""
    numbers = torch.randperm(len(train))[:count].numpy()
    return to_targets(train[numbers]), numbers
