"""The entries of the zoo: from every training, from held-out images, and mixtures."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deploy.demo.tiles import Pixels
from scorer.extractors import Features

DRAWN = ("mgan", "sup", "ae", "vae")
"""Networks that reproduce training images, with the ways to memorise of Bai et al. 2021, section 3.2.

The variational autoencoder is separate from the plain one.
"""
ALTERED = "aug"
"""Training images, altered."""
MEMORISING = (*DRAWN, ALTERED)
SHARES = (0.5, 0.25, 0.1)


def mixture_name(share: float, method: str) -> str:
    """The name of mixtures with this share of copies from a memorising method and honest images otherwise."""
    return f"{share:.0%} {'altered' if method == ALTERED else 'drawn'}"


MIXED: Mapping[str, float] = MappingProxyType(
    {mixture_name(share, method): share for method in (ALTERED, DRAWN[0]) for share in SHARES}
)
"""The memorised share of each mixture; the rest is honest. A mean distance hides such copies."""
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
    """The identity of an entry: method, strength (for a mixture, the source of copies) and seed."""

    method: str
    strength: str
    seed: int


@dataclass(frozen=True, eq=False)
class EntryFeatures:
    """An entry: its images (n, s, s, 3), and their features (n, d) by extractor."""

    title: Title
    images: Pixels
    features: Mapping[str, Features]
    originals: NDArray[np.int64] | None = None
    """The number of the training image for each image that a network was trained to draw again."""


def mixed(entries: Sequence[EntryFeatures]) -> Iterator[EntryFeatures]:
    """Every memorising entry of a seed, mixed with that of :data:`HONEST_PART` in each of :data:`SHARES`."""
    honest = next(entry for entry in entries if entry.title.method == HONEST_PART)
    for share in SHARES:
        for entry in entries:
            if entry.title.method in MEMORISING:
                yield _mix(entry, honest, share)


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
"""The zoo's seeds, each with all trainings."""
FIXING = (0, 1)
"""Seeds reserved for fixing thresholds. The others judge the targets."""


@dataclass(frozen=True)
class ZooPlan:
    """Sizes of one seed. Trainings have numbers of steps, each with ``batch`` images."""

    images: int = 300
    """Images of an entry, and training images that generators map seeds to."""
    photographs: int = 165
    """Number of held-out images that form an entry instead of the reference."""
    batch: int = 16
    width: int = 24
    """Channels of the widest images in the memorising networks."""
    sup: int = 4200
    membership: int = 600
    """Steps of the memorising GAN's discriminator before it is frozen."""
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
"""About 35 minutes of one core for each seed, mostly for trainings."""
