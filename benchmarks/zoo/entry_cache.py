"""The trainings by name, and a cache of the entries that they generate: training takes minutes."""

import hashlib
import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from time import process_time
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.zoo.entries import ZooPlan
from benchmarks.zoo.trainings.adversarial import adversarial
from benchmarks.zoo.trainings.autoencoders import autoencoder, variational
from benchmarks.zoo.trainings.diffusion import diffusion
from benchmarks.zoo.trainings.one_hot import memorising_gan, supervised
from benchmarks.zoo.trainings.training import GeneratedImages, Training
from benchmarks.zoo.trainings.untrained import augmented, normal
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
        "diffusion": diffusion,
        "normal": normal,
    }
)
VERSION = 4
"""Raised when a training changes, so that nothing that is kept of the former one is used."""


@dataclass(frozen=True)
class Inputs:
    """The images of the zoo, each (n, s, s, 3) uint8: to train on, held out, and in the private reference only."""

    train: Pixels
    held_out: Pixels
    private_extra: Pixels

    def photographs(self, plan: ZooPlan, seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The numbers of a seed's held-out images in the reference, and of those that are scored as an entry."""
        order = np.random.default_rng((seed, 2019)).permutation(len(self.held_out))
        return order[plan.photographs :], order[: plan.photographs]


@dataclass(frozen=True)
class EntryCache:
    """A folder of arrays computed from the inputs by a plan."""

    folder: Path

    @classmethod
    def at(cls, root: Path, inputs: Inputs, plan: ZooPlan) -> "EntryCache":
        """The cache in ``root`` under a hash of the images and of the parts of the plan that entries depend on."""
        digest = hashlib.sha256(f"{VERSION} {replace(plan, photographs=0, spaces=('', ''))}".encode())
        for images in (inputs.train, inputs.held_out, inputs.private_extra):
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


def trained_entries(
    name: str, seed: int, inputs: Inputs, plan: ZooPlan, cache: EntryCache
) -> tuple[list[GeneratedImages], float]:
    """The entries of one training and seed, from the cache or made now, and the seconds of processor time it took."""
    key = f"{name}-{seed}"
    arrays = cache.arrays(key)
    if arrays is None:
        log.info("making %s", key)
        began = process_time()
        made = list(TRAININGS[name](inputs.train, plan, seed))
        arrays = {f"images|{each.method}|{each.strength}": each.images for each in made}
        arrays |= {f"originals|{each.method}": each.originals for each in made if each.originals is not None}
        arrays["seconds"] = np.array(process_time() - began)
        cache.store(key, arrays)
    return list(_entries_in(arrays)), float(arrays["seconds"])


def _entries_in(arrays: Mapping[str, NDArray[Any]]) -> Iterator[GeneratedImages]:
    for title, images in arrays.items():
        kind, _, rest = title.partition("|")
        if kind == "images":
            method, _, strength = rest.partition("|")
            yield GeneratedImages(method, strength, images, arrays.get(f"originals|{method}"))
