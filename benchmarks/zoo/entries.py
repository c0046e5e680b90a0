"""The entries of the zoo: those of every training, held-out images, and mixtures."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.zoo.entry_cache import UNTRAINED, EntryCache, Inputs, cached_entries_of
from benchmarks.zoo.plan import ZooPlan
from deploy.demo.tiles import Pixels
from scorer.extractors import Features

MEMORISING = ("mgan", "sup", "ae", "vae", "aug")
"""The ways to memorise of Bai et al. 2021, section 3.2, with the variational autoencoder apart from the plain one."""
MIXED: Mapping[str, float] = MappingProxyType({"half copied": 0.5, "quarter copied": 0.25})
"""Entries of which that share is memorised and the rest honest: the case that a mean distance hides."""
HONEST = ("gan", "vae random", "flow", "normal", "photographs")
METHODS = (*MEMORISING, *MIXED, *HONEST)
LABELS: Mapping[str, str] = MappingProxyType(
    dict.fromkeys(HONEST, "legitimate")
    | dict.fromkeys(MIXED, "other")
    | {method: "ae" if method == "vae" else method for method in MEMORISING}
)
"""The label that reviewers would give."""
HONEST_PART = "flow"
"""The honest method in mixed entries."""


class Title(NamedTuple):
    """The identity of an entry: method, strength and seed."""

    method: str
    strength: str
    seed: int


@dataclass(frozen=True, eq=False)
class EntryFeatures:
    """An entry: its images (n, s, s, 3), and their features in every space, (n, d) by extractor."""

    title: Title
    images: Pixels
    features: Mapping[str, Features]


def images_of(name: str, inputs: Inputs, plan: ZooPlan, cache: EntryCache) -> Iterator[tuple[Title, Pixels]]:
    """The entries of one training, from the cache or made now; ``photographs`` is the entry of held-out images."""
    if name == "photographs":
        yield Title(name, "held out", 0), inputs.photographs
        return
    for seed in plan.seeds[:1] if name in UNTRAINED else plan.seeds:
        for each in cached_entries_of(name, seed, inputs, plan, cache):
            yield Title(each.method, each.strength, seed), each.images


def mixed(entries: Sequence[EntryFeatures]) -> Iterator[EntryFeatures]:
    """For every seed the strongest entry of each memorising method, mixed with the strongest of :data:`HONEST_PART`."""
    strongest = {(each.title.method, each.title.seed): each for each in entries}  # the last one stays
    for (method, seed), kind in product(list(strongest), MIXED):
        honest = strongest.get((HONEST_PART, seed))
        if method in MEMORISING and honest is not None:
            yield _mix(strongest[method, seed], honest, kind)


def _mix(memorising: EntryFeatures, honest: EntryFeatures, kind: str) -> EntryFeatures:
    count = len(memorising.images)
    split = round(MIXED[kind] * count)

    def both(one: NDArray[Any], other: NDArray[Any]) -> NDArray[Any]:
        return np.concatenate([one[:split], other[split:count]])

    features = {name: both(rows, honest.features[name]) for name, rows in memorising.features.items()}
    title = Title(kind, memorising.title.method, memorising.title.seed)
    return EntryFeatures(title, both(memorising.images, honest.images), features)
