"""The images that evidence names, cut from the zips themselves, a group of pairs in one picture."""

from collections.abc import Collection, Sequence

import numpy as np
from sqlalchemy.orm import Session

from scorer.archive.pixel_hashes import Images, mirror_images
from scorer.blobs import Blobs
from scorer.db import competitions
from scorer.db.tables import Evidence, Preparation, ReferenceSet, Submission
from scorer.errors import NotFound
from scorer.matches import Match
from scorer.pictures import entry_images, entry_listing, listing_of, png_of, reference_images

PREFIX = 8
"""Of a reference set's SHA-256, before the names of its images."""
GONE = 128
"""The grey that stands for an image that is not there any more."""


def sheet_of(
    session: Session, blobs: Blobs, submission: Submission, evidence: Evidence, group: Sequence[Match]
) -> bytes:
    """A PNG of pairs: the entry's images in the first row, below each what it is near to, mirrored where that is the
    match. ``NotFound`` where the entry's zip is gone."""
    size = submission.competition.image_size
    try:
        own = _by_name(blobs, submission, {name for each in group for name in _own_names(each)})
    except NotFound:  # where a zip lies is nobody's to know
        raise NotFound("no-pictures", "The images of this entry are not stored any more.") from None
    sets = _sets_of(session, evidence)
    others = {each.sha256[:PREFIX]: _of_set(blobs, each, group, size) for each in sets}
    above = [own.get(each.image, _gone(size)) for each in group]
    below = [_below(each, own, others, size) for each in group]
    return png_of(np.concatenate([np.concatenate(above, axis=1), np.concatenate(below, axis=1)]))


def _own_names(match: Match) -> Collection[str]:
    return (match.image, match.other) if match.set_ is None else (match.image,)


def _by_name(blobs: Blobs, submission: Submission, names: Collection[str]) -> dict[str, Images]:
    places = {name: place for place, name in enumerate(entry_listing(blobs, submission).names) if name in names}
    images = entry_images(blobs, submission, set(places.values()))
    return {name: images[place] for name, place in places.items() if place in images}


def _sets_of(session: Session, evidence: Evidence) -> Sequence[ReferenceSet]:
    preparation = session.get_one(Preparation, evidence.preparation_id)
    return competitions.reference_sets(session, preparation.reference_set_ids)


def _of_set(blobs: Blobs, set_: ReferenceSet, group: Sequence[Match], size: int) -> dict[str, Images]:
    """The images that a group names of one reference set, by name; none where the set is gone."""
    wanted = {each.other for each in group if each.set_ == set_.sha256[:PREFIX]}
    if not wanted:
        return {}
    try:
        names = listing_of(blobs, set_.blob_key, None).names
        places = {name: place for place, name in enumerate(names) if name in wanted}
        found = reference_images(blobs, [set_], set(places.values()), size, ())
    except NotFound:
        return {}
    return {name: found[place] for name, place in places.items() if place in found}


def _below(match: Match, own: dict[str, Images], others: dict[str, dict[str, Images]], size: int) -> Images:
    images = own if match.set_ is None else others.get(match.set_, {})
    image = images.get(match.other, _gone(size))
    return mirror_images(image[None])[0] if match.mirrored else image


def _gone(size: int) -> Images:
    return np.full((size, size, 3), GONE, np.uint8)
