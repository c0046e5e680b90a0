"""Example images of evidence: which images a finding names, and sheets of them."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sqlalchemy.orm import Session

from scorer.archive.pixel_hashes import Images, mirror_images
from scorer.blobs import Blobs
from scorer.db import competitions
from scorer.db.tables import Evidence, Preparation, ReferenceSet, Submission
from scorer.errors import NotFound
from scorer.evidence.images import entry_images, entry_listing, listing_of, png_of, reference_images

NEAR_DUPLICATE_GROUPS = ("near-copies", "thumbnail-copies", "partly-copied")
MAX_PAIRS = 8
"""Pairs of a group: as many as fit on a screen."""


@dataclass(frozen=True)
class ExamplePair:
    """An image of the entry and what it is near to: a reference image (``set_`` is the beginning of its set's SHA-256),
    or another image of the entry (None)."""

    image: str
    other: str
    distance: float
    set_: str | None = None
    mirrored: bool = False
    """Whether it is near to the other one's mirror image."""


def example_groups(details: Mapping[str, Any], hidden: Collection[str] = ()) -> dict[str, Sequence[ExamplePair]]:
    """The groups that there are images of, by the names that addresses give them: those of :data:`NEAR`, ``cell-1``
    (the first cell), ``repeats``, ``identical`` (two images of each of its groups), ``mirrored-twins``. Without the
    reference images of sets whose SHA-256 begins as one of ``hidden``."""
    found = {name: _near(details.get(name.replace("-", "_"), ())) for name in NEAR_DUPLICATE_GROUPS}
    for cell in details.get("cells", ()):
        found[f"cell-{cell['cell'] + 1}"] = _near(cell["examples"])
    found["repeats"] = [ExamplePair(one, other, distance) for one, other, distance in details.get("repeats", ())]
    found["identical"] = [ExamplePair(names[0], names[1], 0.0) for names in details.get("identical", ())]
    turned = {frozenset(pair): pair for pair in details.get("mirrored_twins", ())}  # each is the other's
    found["mirrored-twins"] = [ExamplePair(one, other, 0.0, mirrored=True) for one, other in turned.values()]
    seen = {name: [each for each in group if each.set_ not in hidden][:MAX_PAIRS] for name, group in found.items()}
    return {name: group for name, group in seen.items() if group}


def _near(examples: Sequence[Mapping[str, Any]]) -> list[ExamplePair]:
    named = [(each, *each["reference"].partition("/")) for each in examples]
    return [
        ExamplePair(each["generated"], name, each["distance"], set_, each.get("mirrored", False))
        for each, set_, _, name in named
    ]


SET_PREFIX_LENGTH = 8
"""Of a reference set's SHA-256, before the names of its images."""
GONE = 128
"""The grey that stands for an image that is not there any more."""


def example_sheet(
    session: Session, blobs: Blobs, submission: Submission, evidence: Evidence, group: Sequence[ExamplePair]
) -> bytes:
    """A PNG of pairs: the entry's images in the first row, below each what it is near to, mirrored where that is the
    match. ``NotFound`` where the entry's zip is gone."""
    size = submission.competition.image_size
    try:
        own = _by_name(blobs, submission, {name for each in group for name in _own_names(each)})
    except NotFound:  # where a zip lies is nobody's to know
        raise NotFound("no-pictures", "The images of this entry are not stored any more.") from None
    sets = _sets_of(session, evidence)
    others = {each.sha256[:SET_PREFIX_LENGTH]: _of_set(blobs, each, group, size) for each in sets}
    above = [own.get(each.image, _gone(size)) for each in group]
    below = [_below(each, own, others, size) for each in group]
    return png_of(np.concatenate([np.concatenate(above, axis=1), np.concatenate(below, axis=1)]))


def _own_names(match: ExamplePair) -> Collection[str]:
    return (match.image, match.other) if match.set_ is None else (match.image,)


def _by_name(blobs: Blobs, submission: Submission, names: Collection[str]) -> dict[str, Images]:
    places = {name: place for place, name in enumerate(entry_listing(blobs, submission).names) if name in names}
    images = entry_images(blobs, submission, set(places.values()))
    return {name: images[place] for name, place in places.items() if place in images}


def _sets_of(session: Session, evidence: Evidence) -> Sequence[ReferenceSet]:
    preparation = session.get_one(Preparation, evidence.preparation_id)
    return competitions.reference_sets(session, preparation.reference_set_ids)


def _of_set(blobs: Blobs, set_: ReferenceSet, group: Sequence[ExamplePair], size: int) -> dict[str, Images]:
    """The images that a group names of one reference set, by name; none where the set is gone."""
    wanted = {each.other for each in group if each.set_ == set_.sha256[:SET_PREFIX_LENGTH]}
    if not wanted:
        return {}
    try:
        names = listing_of(blobs, set_.blob_key, None).names
        places = {name: place for place, name in enumerate(names) if name in wanted}
        found = reference_images(blobs, [set_], set(places.values()), size, ())
    except NotFound:
        return {}
    return {name: found[place] for name, place in places.items() if place in found}


def _below(match: ExamplePair, own: dict[str, Images], others: dict[str, dict[str, Images]], size: int) -> Images:
    images = own if match.set_ is None else others.get(match.set_, {})
    image = images.get(match.other, _gone(size))
    return mirror_images(image[None])[0] if match.mirrored else image


def _gone(size: int) -> Images:
    return np.full((size, size, 3), GONE, np.uint8)
