"""What entries are compared with in one feature space, prepared once, and what all tests read there of one entry."""

from dataclasses import dataclass

from scorer.metrics.authenticity import Authenticity, authenticity, p_fewer
from scorer.metrics.closeness import closeness
from scorer.metrics.copying import CopyingReference, copying_reference, data_copying
from scorer.metrics.features import Features
from scorer.metrics.frechet import Statistics, frechet_distance, statistics_of
from scorer.metrics.manifold import Manifold, manifold_of
from scorer.metrics.memorization import Nearest, NormalisedFeatures, nearest, normalise
from scorer.metrics.near_copies import Originals, near_copies, originals_of
from scorer.metrics.repeats import repeats

SEED = 0
"""Of the cells."""


@dataclass(frozen=True, eq=False)
class References:
    """Features, each (n, d) float32: of the training images and their mirror images, of held-out photographs, and of
    all that this track's Fréchet and memorization distances are measured to."""

    training: Features
    mirrored: Features
    held_out: Features
    whole: Features


@dataclass(frozen=True, eq=False)
class Space:
    """One track's feature space."""

    statistics: Statistics
    whole: NormalisedFeatures
    training: NormalisedFeatures
    mirrored: NormalisedFeatures
    copying: CopyingReference
    manifold: Manifold
    authentic: Authenticity
    """Of the held-out photographs."""
    fresh: Nearest
    """The held-out photographs' nearest training images, upright."""
    fresh_either_way: Originals
    """The same, mirrored or upright."""


@dataclass(frozen=True)
class Reading:
    """What one space tells of one entry. Each ``p`` is that of the test before it, for copying (one-sided)."""

    fid: float
    distance: float
    """The memorization distance s."""
    c_t: float | None
    c_t_p: float | None
    z_u: float
    z_u_p: float
    authenticity: float
    authenticity_p: float
    near_copies: float
    """The share of images near to a training image or its mirror image."""
    near_copies_p: float
    partly_copied: float
    """The share of images near to a training image, upright alone."""
    partly_copied_p: float
    repeats: float
    repeats_p: float


def space_of(references: References) -> Space:
    """Prepare a space: the cells, the balls around training images, the held-out photographs' own distances."""
    training, mirrored = normalise(references.training), normalise(references.mirrored)
    fresh = nearest(references.held_out, training)
    manifold = manifold_of(references.training, 1)
    return Space(
        statistics=statistics_of(references.whole),
        whole=normalise(references.whole),
        training=training,
        mirrored=mirrored,
        copying=copying_reference(references.training, references.held_out, seed=SEED),
        manifold=manifold,
        authentic=authenticity(references.held_out, manifold),
        fresh=fresh,
        fresh_either_way=originals_of(fresh, nearest(references.held_out, mirrored)),
    )


def read(features: Features, space: Space) -> Reading:
    """All tests of an entry's features (n, d)."""
    upright = nearest(features, space.training)
    copied = data_copying(features, space.copying)
    own = authenticity(features, space.manifold)
    partly = closeness(upright.distance, space.fresh.distance)
    near = near_copies(originals_of(upright, nearest(features, space.mirrored)), space.fresh_either_way).closeness
    again = repeats(features, partly, len(space.training))
    return Reading(
        fid=frechet_distance(statistics_of(features), space.statistics),
        distance=nearest(features, space.whole).mean,
        c_t=copied.c_t,
        c_t_p=copied.c_t_p_copying,
        z_u=copied.overall.z,
        z_u_p=copied.overall.p_smaller,
        authenticity=own.share,
        authenticity_p=p_fewer(own, space.authentic),
        near_copies=near.share,
        near_copies_p=near.p_value,
        partly_copied=partly.share,
        partly_copied_p=partly.p_value,
        repeats=again.share,
        repeats_p=again.p_value,
    )
