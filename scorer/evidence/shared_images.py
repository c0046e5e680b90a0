"""Shared images: sheets of the images that two entries share."""

import numpy as np
from sqlalchemy.orm import Session

from scorer.archive.pixel_hashes import Images, mirror_images
from scorer.db.evidence import shared_images as rows
from scorer.db.submissions.submissions import submissions_by_ref
from scorer.db.tables import Submission
from scorer.errors import NotFound
from scorer.evidence.closest_pairs import difference
from scorer.evidence.images import StoredImages, png_of


def shared_images_sheet(session: Session, images: StoredImages, submission: Submission, other_ref: int) -> bytes:
    """A PNG of images that an entry shares with another team's: its own in the first row, below each the other's,
    mirrored where that is the better match. ``NotFound`` if they share none, or if a zip is gone."""
    sharing = rows.sharing_entries(session, [submission.ref])
    examples = next((each.examples for each in sharing if each.ref == other_ref), None)
    if examples is None:
        raise NotFound("no-pictures", "There are no images of these two entries to show.")
    [other] = submissions_by_ref(session, [other_ref])
    try:
        own = images.of_entry(submission, {one for one, _ in examples})
        others = images.of_entry(other, {another for _, another in examples})
    except NotFound:  # its message would name the blob's key
        raise NotFound("no-pictures", "The images of these entries are not stored any more.") from None
    pairs = [(own[one], _as_matched(own[one], others[another])) for one, another in examples]
    return png_of(np.concatenate([np.concatenate(row, axis=1) for row in zip(*pairs, strict=True)]))


def _as_matched(image: Images, other: Images) -> Images:
    mirrored = mirror_images(other[None])[0]
    return mirrored if difference(image, mirrored) < difference(image, other) else other
