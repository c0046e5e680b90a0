"""Targets near an entry: the training and held-out images that latent recovery compares because the entry is close.

A generator that memorises few images is found sooner if its entry shows which. But images near an entry are easier to
make than others for every generator, so they must not be compared with held-out images drawn at random. Both kinds are
chosen with one distance c to the nearest image of the entry:

    held-out: the k images nearer than c, the distance of the (k + 1)-th nearest one
    training: of all images nearer than c, as many drawn at random

Given c, and if the generator knows the training images no better than others, the chosen images of both kinds are
independent draws from one distribution, that of images nearer than c. So the two-sample test on their errors is exact.
With the *nearest* training images it would not be: they are nearer than the held-out images if there are more of them.
"""

from dataclasses import dataclass

import numpy as np

from scorer.metrics.cosine import Indices
from scorer.metrics.features import Vector

MIN_TARGETS = 8
MAX_HELD_OUT_SHARE = 0.25
"""A larger share of the held-out images would not count as near."""


@dataclass(frozen=True, eq=False)
class NearTargets:
    """Rows of training (n,) and held-out images (k,), ascending."""

    train: Indices
    held_out: Indices
    held_out_share: float
    """k as a share of all held-out images."""


def choose_near_targets(
    train: Vector, held_out: Vector, count: int, *, random: np.random.Generator
) -> NearTargets | None:
    """At most ``count`` images of each kind, from their distances (n,), (m,) to the nearest image of an entry; None if
    fewer than 8 of a kind are near."""
    near = min(count, int(MAX_HELD_OUT_SHARE * len(held_out)))
    if near < MIN_TARGETS:
        return None
    limit = np.sort(held_out)[near]
    chosen = np.flatnonzero(held_out < limit)
    candidates = np.flatnonzero(train < limit)
    if min(len(chosen), len(candidates)) < MIN_TARGETS:
        return None
    drawn = np.sort(random.choice(candidates, min(count, len(candidates)), replace=False))
    return NearTargets(drawn, chosen, len(chosen) / len(held_out))
