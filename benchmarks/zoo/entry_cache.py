"""The trainings by name, and a cache of the entries that they generate: training takes minutes."""

import hashlib
import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.zoo.adversarial import adversarial
from benchmarks.zoo.autoencoders import autoencoder, variational
from benchmarks.zoo.one_hot import memorising_gan, supervised
from benchmarks.zoo.plan import ZooPlan
from benchmarks.zoo.training import GeneratedImages, Training
from benchmarks.zoo.untrained import augmented, normal
from deploy.demo.photographs import Photographs
from deploy.demo.tiles import Pixels

log = logging.getLogger(__name__)

TRAININGS: Mapping[str, Training] = MappingProxyType(
    {
        "mgan": memorising_gan,
        "sup": supervised,
        "ae": autoencoder,
        "vae": variational,
        "aug": augmented,
        "gan": adversarial,
        "normal": normal,
    }
)
UNTRAINED = frozenset({"aug", "normal"})
VERSION = 1
"""Raised when a training changes, so that cached entries of the former one are not used."""


@dataclass(frozen=True)
class Inputs:
    """The reference images of the zoo, each (n, s, s, 3) uint8.

    To train on, held out, held out and scored as an entry (``photographs``), and in the private reference only.
    """

    train: Pixels
    held_out: Pixels
    photographs: Pixels
    private_extra: Pixels


def inputs_of(photographs: Photographs, plan: ZooPlan) -> Inputs:
    """Split the held-out images, which are in random order, into the reference's and an entry."""
    held_out = photographs.held_out.images
    rest = len(held_out) - plan.photographs
    return Inputs(photographs.train.images, held_out[:rest], held_out[rest:], photographs.private_extra.images)


@dataclass(frozen=True)
class EntryCache:
    """A folder of arrays computed from the inputs by a plan."""

    folder: Path

    @classmethod
    def at(cls, root: Path, inputs: Inputs, plan: ZooPlan) -> "EntryCache":
        """The cache in ``root`` under a hash of the images and of the parts of the plan that entries depend on."""
        digest = hashlib.sha256(f"{VERSION} {replace(plan, seeds=(), spaces=('', ''))}".encode())
        for images in (inputs.train, inputs.held_out, inputs.photographs, inputs.private_extra):
            digest.update(images.tobytes())
        folder = root / digest.hexdigest()[:16]
        folder.mkdir(parents=True, exist_ok=True)
        return cls(folder)

    def arrays(self, name: str) -> dict[str, NDArray[Any]] | None:
        """The arrays stored under a name, or None."""
        path = self.folder / f"{name}.npz"
        if not path.is_file():
            return None
        with np.load(path) as file:
            return dict(file)

    def store(self, name: str, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Store arrays under a name, atomically."""
        path = self.folder / f"{name}.npz"
        partial = path.with_suffix(".partial.npz")
        np.savez(partial, allow_pickle=False, **arrays)
        partial.rename(path)


def cached_entries_of(
    name: str, seed: int, inputs: Inputs, plan: ZooPlan, cache: EntryCache
) -> Iterator[GeneratedImages]:
    """The entries of one training and seed, from the cache or made now."""
    key = f"{name}-{seed}"
    arrays = cache.arrays(key)
    if arrays is None:
        log.info("making %s", key)
        arrays = {f"{each.method}|{each.strength}": each.images for each in TRAININGS[name](inputs.train, plan, seed)}
        cache.store(key, arrays)
    for title, images in arrays.items():
        method, _, strength = title.partition("|")
        yield GeneratedImages(method, strength, images)
