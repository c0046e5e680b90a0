"""Latent spaces of generators: dimension, distribution, seeded draws. Torch is imported only when points are drawn."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from scipy.special import ndtr, ndtri

from scorer.errors import Invalid
from scorer.generators.onnx_files import DeclaredLatent, Distribution, require_latent

if TYPE_CHECKING:
    from torch import Tensor


Value = TypeVar("Value")
TRUNCATION = 2.0
"""The bound of truncated normal coordinates, as in BigGAN (Brock et al. 2019)."""


@dataclass(frozen=True)
class Latent:
    """A latent space: in every coordinate standard normal, standard normal truncated to [-2, 2], or uniform on [-1, 1].
    With ``classes``, a one-hot class of equal probabilities follows the coordinates.

    Raises the errors of :func:`require_latent`.
    """

    dimension: int
    distribution: Distribution = "normal"
    classes: int | None = None

    def __post_init__(self) -> None:
        require_latent(self.dimension, self.distribution, self.classes)

    @property
    def inputs(self) -> int:
        """The numbers that a network takes for one image: the coordinates and the one-hot class."""
        return self.dimension + (self.classes or 0)

    def draw(self, n: int, seed: int) -> Tensor:
        """``n`` points (n, inputs) float32, the same for the same seed."""
        import torch  # noqa: PLC0415 - a process that only names a latent space needs no torch

        random = np.random.default_rng(seed)
        shape = (n, self.dimension)
        if self.distribution == "normal":
            points = random.standard_normal(shape)
        elif self.distribution == "uniform":
            points = random.uniform(-1.0, 1.0, shape)
        else:
            points = ndtri(random.uniform(ndtr(-TRUNCATION), ndtr(TRUNCATION), shape))
        if self.classes is not None:
            points = np.hstack([points, np.eye(self.classes)[random.integers(self.classes, size=n)]])
        return torch.from_numpy(points.astype(np.float32))

    @property
    def _bound(self) -> float | None:
        """The largest coordinate; None without one."""
        return {"normal": None, "uniform": 1.0, "truncated-normal": TRUNCATION}[self.distribution]

    def to_unconstrained(self, points: Tensor) -> Tensor:
        """The unconstrained coordinates of latent points for a search: the points, or the arcsin of bounded ones."""
        coordinates = points[:, : self.dimension]
        if self._bound is not None:
            coordinates = (coordinates / self._bound).clamp(-1.0, 1.0).asin()
        return self._with_class_of(points, coordinates)

    def to_latent(self, unconstrained: Tensor) -> Tensor:
        """The latent points of unconstrained coordinates; bounded points stay within their bound. The class has no
        gradient, so a search keeps that of its start."""
        coordinates = unconstrained[:, : self.dimension]
        if self._bound is not None:
            coordinates = self._bound * coordinates.sin()
        return self._with_class_of(unconstrained, coordinates)

    def _with_class_of(self, points: Tensor, coordinates: Tensor) -> Tensor:
        if self.classes is None:
            return coordinates
        joined = points.detach().clone()
        joined[:, : self.dimension] = coordinates
        return joined


def resolve_latent(inputs: int | None, declarations: Iterable[DeclaredLatent]) -> Latent:
    """The latent space of a network that takes ``inputs`` numbers per image (None: the file leaves it open). Of each
    property, the first declaration decides; without any, the distribution is normal and there is no class.

    ``Invalid``: ``wrong-latent`` if the dimension is unknown or does not fit; ``bad-latent`` as :class:`Latent`.
    """
    declared = list(declarations)
    dimension = _first(one.dimension for one in declared)
    classes = _first(one.classes for one in declared) or 0
    if inputs is None and dimension is None:
        raise Invalid(
            "wrong-latent",
            "The file leaves the latent dimension open. Declare it (kennel submit --latent D), or export the generator "
            "with a fixed dimension.",
        )
    if inputs is not None and (inputs <= classes or dimension not in {None, inputs - classes}):
        raise Invalid(
            "wrong-latent",
            f"The generator takes {inputs} numbers per image; the declared latent has "
            f"{'a coordinate or more' if dimension is None else f'{dimension} coordinates'} and "
            f"{f'{classes} classes' if classes else 'no class'}. {_advice(inputs, classes)}",
        )
    if inputs is not None:
        dimension = inputs - classes
    distribution: Distribution = _first(one.distribution for one in declared) or "normal"
    return Latent(dimension or 0, distribution, classes or None)


def _advice(inputs: int, classes: int) -> str:
    if inputs <= classes:
        return f"Declare at most {inputs - 1} classes (kennel submit --classes C)."
    with_classes = f" with {classes} classes" if classes else ""
    return (
        f"Declare {inputs - classes} coordinates{with_classes} (kennel submit --latent {inputs - classes}), or no "
        "dimension: it follows from the file."
    )


def _first(values: Iterable[Value | None]) -> Value | None:
    return next((value for value in values if value is not None), None)
