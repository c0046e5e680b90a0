"""The entries of the zoo: those of every training, held-out images, and mixtures."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deploy.demo.tiles import Pixels
from scorer.extractors import Features

DRAWN = ("mgan", "sup", "ae", "vae")
"""Networks that draw training images again: the ways to memorise of Bai et al. 2021, section 3.2, with the variational
autoencoder apart from the plain one."""
ALTERED = "aug"
"""Training images, altered."""
MEMORISING = (*DRAWN, ALTERED)
SHARES = (0.5, 0.25, 0.1)


def mixture_name(share: float, method: str) -> str:
    """The method of mixtures: such a share of copies, of a memorising method's, the rest honest."""
    return f"{share:.0%} {'altered' if method == ALTERED else 'drawn'}"


MIXED: Mapping[str, float] = MappingProxyType(
    {mixture_name(share, method): share for method in (ALTERED, DRAWN[0]) for share in SHARES}
)
"""Entries of which that share is memorised and the rest honest: the case that a mean distance hides."""
HALF_ALTERED = mixture_name(0.5, ALTERED)
HONEST_NETWORKS = ("gan", "flow", "diffusion")
HONEST = (*HONEST_NETWORKS, "normal", "photographs")
METHODS = (*MEMORISING, *MIXED, *HONEST)
LABELS: Mapping[str, str] = MappingProxyType(
    dict.fromkeys(HONEST, "legitimate")
    | dict.fromkeys(MIXED, "other")
    | {method: "ae" if method == "vae" else method for method in MEMORISING}
)
"""The label that reviewers would give."""
HONEST_PART = "diffusion"
"""The honest method in mixed entries."""


class Title(NamedTuple):
    """The identity of an entry: method, strength (of a mixture: whose copies) and seed."""

    method: str
    strength: str
    seed: int


@dataclass(frozen=True, eq=False)
class EntryFeatures:
    """An entry: its images (n, s, s, 3), and their features in every space, (n, d) by extractor."""

    title: Title
    images: Pixels
    features: Mapping[str, Features]
    originals: NDArray[np.int64] | None = None
    """Of each image that a network was trained to draw again, the number of the training image."""


def mixed(entries: Sequence[EntryFeatures]) -> Iterator[EntryFeatures]:
    """Every memorising entry of a seed, mixed in each of :data:`SHARES` with that of :data:`HONEST_PART`."""
    honest = next(each for each in entries if each.title.method == HONEST_PART)
    for share in SHARES:
        for each in entries:
            if each.title.method in MEMORISING:
                yield _mix(each, honest, share)


def _mix(memorising: EntryFeatures, honest: EntryFeatures, share: float) -> EntryFeatures:
    count = len(memorising.images)
    split = round(share * count)

    def both(one: NDArray[Any], other: NDArray[Any]) -> NDArray[Any]:
        return np.concatenate([one[:split], other[split:count]])

    method, strength, seed = memorising.title
    features = {name: both(rows, honest.features[name]) for name, rows in memorising.features.items()}
    title = Title(mixture_name(share, method), strength or method, seed)
    return EntryFeatures(title, both(memorising.images, honest.images), features)


SEEDS = (0, 1, 2, 3, 4)
"""The seeds of which the zoo is made, each with all trainings."""
FIXING = (0, 1)
"""Seeds that are set apart to fix thresholds on; targets are judged on the others."""


@dataclass(frozen=True)
class ZooPlan:
    """Sizes of the trainings of one seed. Each of them is so many steps, of ``batch`` images each."""

    images: int = 300
    """Images of an entry; generators that map seeds to training images learn that many."""
    photographs: int = 165
    """Number of held-out images that are an entry and no part of the reference."""
    batch: int = 16
    width: int = 24
    """Channels of the widest images in the networks that memorise."""
    sup: int = 4200
    membership: int = 600
    """Steps of the memorising GAN's discriminator, before it is frozen."""
    mgan: int = 4200
    ae: int = 1000
    vae: int = 3000
    flow: int = 4000
    """Steps of the diffusion model of the variational autoencoder's codes."""
    gan: int = 6000
    gan_width: int = 16
    diffusion: int = 2200
    diffusion_width: int = 48
    spaces: tuple[str, str] = ("efficientnet_lite0", "efficientnet_lite2")
    """Public and private extractor."""


FULL = ZooPlan()
"""Some 35 minutes of one core for each seed, most of it for trainings."""
