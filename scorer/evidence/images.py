"""Single images out of the zips that an entry and the references came in: what people look at, never what is
measured."""

import io
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache

import numpy as np
from PIL import Image
from sqlalchemy.orm import Session

from scorer.accounts.roles import is_organizer
from scorer.archive import ImageSpec, Listing, list_images, list_references
from scorer.archive.pixel_hashes import Images
from scorer.archive.selected_images import select_images, select_reference_images
from scorer.blobs import Blobs
from scorer.db import competitions
from scorer.db.tables import Account, ReferenceSet, Submission
from scorer.submissions.files import stored_zip


@lru_cache(maxsize=32)
def listing_of(blobs: Blobs, key: str, spec: ImageSpec | None) -> Listing:
    """The directory of an entry's zip, or of a reference set's (``spec`` is None): both never change, and a large one
    takes a while."""
    with blobs.open(key) as file:
        return list_references(file) if spec is None else list_images(file, spec)


def entry_listing(blobs: Blobs, submission: Submission) -> Listing:
    """The directory of an entry's zip; ``NotFound`` where it has none."""
    return listing_of(blobs, stored_zip(submission).key, _spec_of(submission))


def entry_images(blobs: Blobs, submission: Submission, places: Collection[int]) -> dict[int, Images]:
    """Some of an entry's images by their places, (size, size, 3) uint8 each; without those that are not there.
    ``NotFound`` where the zip is gone."""
    listing = entry_listing(blobs, submission)
    with blobs.open(stored_zip(submission).key) as file:
        return select_images(file, listing, places, _spec_of(submission).size)


def reference_images(
    blobs: Blobs, sets: Sequence[ReferenceSet], wanted: Collection[int], size: int, hidden: Collection[int]
) -> dict[int, Images]:
    """Reference images by their places in all ``sets``, one set after the other; without the ``hidden`` sets."""
    found: dict[int, Images] = {}
    first = 0
    for each in sets:
        listing = listing_of(blobs, each.blob_key, None)
        here = {place - first for place in wanted} if each.id not in hidden else set()
        with blobs.open(each.blob_key) as file:
            found |= {
                first + place: image for place, image in select_reference_images(file, listing, here, size).items()
            }
        first += len(listing.members)
    return found


def hidden_sets(session: Session, submission: Submission, account: Account) -> set[int]:
    """The reference sets whose images this person may not see: all that participants may not train on, for whoever is
    no organizer."""
    if is_organizer(account):
        return set()
    attached = competitions.references_of(session, submission.competition_id)
    return {each.reference_set_id for role, each in attached.items() if role != "train"}


def sets_of(session: Session, provenance: Mapping[str, str]) -> Sequence[ReferenceSet]:
    """The reference sets that a measurement with this provenance was compared with, in order."""
    preparation = competitions.preparation_by_key(session, provenance.get("reference", ""))
    return [] if preparation is None else competitions.reference_sets(session, preparation.reference_set_ids)


def png_of(image: Images) -> bytes:
    """An image as a PNG."""
    buffer = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(image)).save(buffer, "PNG")
    return buffer.getvalue()


def _spec_of(submission: Submission) -> ImageSpec:
    return ImageSpec(submission.competition.image_count, submission.competition.image_size)
