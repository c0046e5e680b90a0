"""Single images out of the zips of entries and reference sets, for people to look at; never for measuring."""

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
    """The directory of an entry's zip or, with ``spec`` None, of a reference set's. Cached, because zips never change
    and large directories take long to read."""
    with blobs.open(key) as file:
        return list_references(file) if spec is None else list_images(file, spec)


def entry_listing(blobs: Blobs, submission: Submission) -> Listing:
    """The directory of an entry's zip; ``NotFound`` where the entry has no zip."""
    return listing_of(blobs, stored_zip(submission).key, _spec_of(submission))


def entry_images(blobs: Blobs, submission: Submission, places: Collection[int]) -> dict[int, Images]:
    """Some of an entry's images by index, (size, size, 3) uint8 each; missing indices are left out. ``NotFound`` where
    the zip is gone."""
    listing = entry_listing(blobs, submission)
    with blobs.open(stored_zip(submission).key) as file:
        return select_images(file, listing, places, _spec_of(submission).size)


def reference_images(
    blobs: Blobs, sets: Sequence[ReferenceSet], wanted: Collection[int], size: int, hidden: Collection[int]
) -> dict[int, Images]:
    """Reference images by their indices in the concatenation of all ``sets``, without those of the ``hidden`` sets;
    none where features stood in place of the images."""
    images: dict[int, Images] = {}
    if any(set_.holds_features for set_ in sets):
        return images
    first = 0
    for set_ in sets:
        listing = listing_of(blobs, set_.blob_key, None)
        places = {place - first for place in wanted} if set_.id not in hidden else set()
        with blobs.open(set_.blob_key) as file:
            images |= {
                first + place: image for place, image in select_reference_images(file, listing, places, size).items()
            }
        first += len(listing.members)
    return images


def hidden_sets(session: Session, submission: Submission, account: Account) -> set[int]:
    """The ids of the reference sets whose images this person may not see: none for organizers, for others all that
    participants may not train on."""
    if is_organizer(account, submission.competition_id):
        return set()
    attached = competitions.references_of(session, submission.competition_id)
    return {each.reference_set_id for role, each in attached.items() if role != "train"}


def sets_of(session: Session, provenance: Mapping[str, str]) -> Sequence[ReferenceSet]:
    """The reference sets that a measurement with this provenance was made against, in order."""
    preparation = competitions.preparation_by_key(session, provenance.get("reference", ""))
    return [] if preparation is None else competitions.reference_sets(session, preparation.reference_set_ids)


def png_of(image: Images) -> bytes:
    """An image as a PNG."""
    buffer = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(image)).save(buffer, "PNG")
    return buffer.getvalue()


def _spec_of(submission: Submission) -> ImageSpec:
    return ImageSpec(submission.competition.image_count, submission.competition.image_size)
