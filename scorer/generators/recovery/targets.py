"""The targets of an audit: the training, held-out and entry images that it searches a generator for. Without torch."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scorer.errors import Invalid
from scorer.findings.latent_recovery import KIND_PHRASES
from scorer.generators.recovery.plan import AuditPlan
from scorer.metrics.copying.latent_recovery import TargetKind
from scorer.metrics.copying.near_targets import MIN_TARGETS, NearTargets

Pixels = NDArray[np.uint8]
Index = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class EntryTargets:
    images: Pixels
    """(k, s, s, 3), drawn from the entry at random."""
    near: NearTargets | None
    """Rows of the training and held-out images near the entry; None if there are too few."""
    others: Pixels | None = None
    """Images of other generators, if any are compared."""
    drawn: bool = False
    """Whether the audited generator is the entry itself. Then these images are the generated targets."""


def draw_targets(
    train: Pixels, held_out: Pixels, plan: AuditPlan, *, entry: EntryTargets | None
) -> dict[TargetKind, tuple[Pixels, Index]]:
    """The images to recover with their indices, by kind: the plan's numbers of training and held-out images, drawn
    without replacement, in order. With an entry, half of them are drawn; the images near the entry and its own images
    follow, as ``generated`` if the generator is the entry.

    Raises :class:`Invalid`: ``bad-images``, ``too-few-images`` (fewer than 8 of a kind).
    """
    others = () if entry is None else (entry.images,)
    if any(images.shape[1:] != train.shape[1:] for images in (held_out, *others)):
        shapes = ", ".join(str(images.shape[1:]) for images in (train, held_out, *others))
        raise Invalid("bad-images", f"Training, held-out and entry images must have the same shape, but have {shapes}.")
    random = np.random.default_rng([plan.seed, 1])
    near = None if entry is None else entry.near
    drawn: dict[TargetKind, tuple[Pixels, Index]] = {}
    sets: tuple[tuple[TargetKind, Pixels, int], ...] = (
        ("train", train, plan.train),
        ("held_out", held_out, plan.held_out),
    )
    for kind, images, count in sets:
        if len(images) < MIN_TARGETS:
            raise Invalid(
                "too-few-images", f"There are {len(images)} {KIND_PHRASES[kind]}; at least {MIN_TARGETS} are needed."
            )
        wanted = count if near is None else half_count(count)
        rows = np.sort(random.choice(len(images), min(wanted, len(images)), replace=False))
        drawn[kind] = np.asarray(images[rows]), rows
    if near is not None:
        drawn["near_train"] = np.asarray(train[near.train]), near.train
        drawn["near_held_out"] = np.asarray(held_out[near.held_out]), near.held_out
    if entry is not None:
        drawn["generated" if entry.drawn else "entry"] = entry.images, np.arange(len(entry.images), dtype=np.int64)
    return drawn


def half_count(count: int) -> int:
    """Half of the targets of a kind, at least 8: the number drawn at random, and the number chosen near an entry."""
    return max(MIN_TARGETS, count // 2)
