"""The trainings by name, and a cache of their entries, because training takes minutes."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from time import process_time
from types import MappingProxyType

import numpy as np
from joblib import Memory  # type: ignore[import-untyped]  # comes with scikit-learn
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
"""Increase this after changing a training, to discard its cached entries."""


@dataclass(frozen=True)
class Inputs:
    """The images of the zoo, each (n, s, s, 3) uint8: for training, held out, and in the private reference only."""

    train: Pixels
    held_out: Pixels
    private_extra: Pixels

    def photographs(self, plan: ZooPlan, seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The numbers of a seed's held-out images in the reference, and of those scored as an entry."""
        order = np.random.default_rng((seed, 2019)).permutation(len(self.held_out))
        return order[plan.photographs :], order[: plan.photographs]


def trained_entries(
    name: str, seed: int, inputs: Inputs, *, plan: ZooPlan, folder: Path
) -> tuple[list[GeneratedImages], float]:
    """The entries of one training and seed, from the cache in ``folder`` or made now, and the processor seconds."""
    entries_depend_on = replace(plan, photographs=0, spaces=("", ""))
    made: tuple[list[GeneratedImages], float] = Memory(folder, verbose=0).cache(_made)(
        name, seed, inputs.train, plan=entries_depend_on, _version=VERSION
    )
    return made


def _made(name: str, seed: int, train: Pixels, *, plan: ZooPlan, _version: int) -> tuple[list[GeneratedImages], float]:
    log.info("making %s of seed %d", name, seed)
    began = process_time()
    return list(TRAININGS[name](train, plan, seed)), process_time() - began
