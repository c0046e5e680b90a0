"""Latent spaces of generators: dimension, distribution, seeded draws. Torch is imported only when points are drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from scorer.errors import Invalid
from scorer.generators.onnx_files import MAX_LATENT_DIMENSION, Distribution

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class Latent:
    """A latent space: standard normal in every coordinate, or uniform on [-1, 1].

    Raises :class:`Invalid` (``bad-latent``) for a dimension outside 1..4096 or another distribution.
    """

    dimension: int
    distribution: Distribution = "normal"

    def __post_init__(self) -> None:
        if not 1 <= self.dimension <= MAX_LATENT_DIMENSION:
            raise Invalid(
                "bad-latent", f"The latent dimension is {self.dimension}; it must be from 1 to {MAX_LATENT_DIMENSION}."
            )
        if self.distribution not in {"normal", "uniform"}:
            raise Invalid("bad-latent", f"The latent distribution is {self.distribution}; use normal or uniform.")

    def draw(self, n: int, seed: int) -> Tensor:
        """``n`` points (n, d) float32, the same for the same seed."""
        import torch  # noqa: PLC0415 - a process that only names a latent space needs no torch

        random = np.random.default_rng(seed)
        shape = (n, self.dimension)
        points = random.standard_normal(shape) if self.distribution == "normal" else random.uniform(-1.0, 1.0, shape)
        return torch.from_numpy(points.astype(np.float32))

    def to_unconstrained(self, points: Tensor) -> Tensor:
        """The unconstrained coordinates of latent points for a search: the points, or the arcsin of uniform ones."""
        return points if self.distribution == "normal" else points.clamp(-1.0, 1.0).asin()

    def to_latent(self, unconstrained: Tensor) -> Tensor:
        """The latent points of unconstrained coordinates; uniform points stay in [-1, 1]."""
        return unconstrained if self.distribution == "normal" else unconstrained.sin()
