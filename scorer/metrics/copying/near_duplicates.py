"""Near duplicates of training images and of their mirror images, by distance in feature space.

An image is near if it is closer to the training images than all but 1 % of the held-out images
(:mod:`scorer.metrics.copying.partial_copying` has the count, its expectation and its p-value). A mirrored copy is found
with the features of the mirrored *training* images. These are the same for all entries, so an entry passes through the
network only once. Held-out images are also compared with both sets; otherwise generated images would have two chances
to be near, and held-out images one.

A relative distance compares how near an image is to one training image with how near it is to others. Carlini et al.
2023 divide the distance to the nearest training image by the mean of the distances to the 50 nearest:

    r = |g - t_1| / mean over k = 1 ... 50 of |g - t_k|

A distance alone shows little, because a smooth image is near to many. An altered copy stays nearer to its original than
to all others, even if some held-out images are as near to theirs. So r of a mixture of honest images and altered copies
has a lower tail that r of held-out images lacks. The test of the mixture counts the images below the lowest 5 % of the
held-out images. That is more than the 1 % of the other tests, because altered copies are among honest images. The share
of copies that r shows in the mixture is (share - expected) / (1 - expected). The distance is the Euclidean distance of
the features; mirrored training images take no part.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scorer.metrics.copying.partial_copying import HELD_OUT_SHARE, PartialCopying, partial_copying
from scorer.metrics.cosine import Indices
from scorer.metrics.euclidean import Neighbours
from scorer.metrics.features import Vector
from scorer.metrics.memorization import Nearest

MAX_EXAMPLES = 12


@dataclass(frozen=True, eq=False)
class Originals:
    """The nearest training image of every image, mirrored or not: ``distance``, ``index`` and ``mirrored``, (n,)."""

    distance: Vector
    index: Indices
    mirrored: NDArray[np.bool_]


@dataclass(frozen=True)
class NearDuplicate:
    """A generated image and the training image that it nearly equals."""

    generated: int
    reference: int
    distance: float
    mirrored: bool


@dataclass(frozen=True)
class NearDuplicates:
    closeness: PartialCopying
    mirrored: int
    """The number of near duplicates that are nearer to a mirrored training image than to any upright one."""
    originals: int
    """The number of different training images that they are near to."""
    most_copied: tuple[int, int] | None
    """The training image with the most near duplicates, and their number; None without near duplicates."""
    examples: tuple[NearDuplicate, ...]
    """At most one for each training image."""


def originals_of(upright: Nearest, mirrored: Nearest) -> Originals:
    """The nearer of two search results, for the training images and their mirror images; ties to the upright one."""
    turned = mirrored.distance < upright.distance
    return Originals(
        np.where(turned, mirrored.distance, upright.distance),
        np.where(turned, mirrored.index, upright.index),
        turned,
    )


def near_duplicates(
    generated: Originals,
    held_out: Vector,
    *,
    rare: float = HELD_OUT_SHARE,
    examples: int = MAX_EXAMPLES,
    order_by: Vector | None = None,
) -> NearDuplicates:
    """Which generated images (n) are nearer to the training images than all but a share ``rare`` of the held-out
    images. ``held_out`` (m,) are the distances of the held-out images.

    Examples are the nearest images, or those with the smallest ``order_by`` (n,), at most one for each training image.
    Raises the errors of :func:`partial_copying`.
    """
    closeness = partial_copying(generated.distance, held_out, rare=rare)
    rows = np.flatnonzero(generated.distance < closeness.limit)
    rows = rows[np.argsort((generated.distance if order_by is None else order_by)[rows], kind="stable")]
    index, first, times = np.unique(generated.index[rows], return_index=True, return_counts=True)
    most = (int(index[times.argmax()]), int(times.max())) if len(rows) else None
    example_rows = rows[np.sort(first)[:examples]]
    pairs = tuple(
        NearDuplicate(
            int(row), int(generated.index[row]), float(generated.distance[row]), bool(generated.mirrored[row])
        )
        for row in example_rows
    )
    return NearDuplicates(closeness, int(generated.mirrored[rows].sum()), len(index), most, pairs)


NEIGHBOURS = 50
"""How many nearest training images are averaged; all of them if there are fewer."""
LOWER_TAIL = 0.05
"""The share of held-out images that defines the tail in the test of the mixture."""


def relative_originals(nearest: Neighbours) -> Originals:
    """The nearest training image of every image, with its relative distance in [0, 1], from the nearest ones (n, k).

    If the k nearest are all at distance 0, r is 1, which shows nothing.
    """
    distances = np.sqrt(nearest.squares)
    mean = distances.mean(axis=1)
    relative = np.divide(distances[:, 0], mean, out=np.ones(len(mean)), where=mean > 0.0)
    return Originals(relative, nearest.index[:, 0], np.zeros(len(mean), np.bool_))
