"""Single images from the zips of entries and reference sets, for people to look at, never for measuring."""

from collections import OrderedDict
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from threading import Lock

import numpy as np
from sqlalchemy.orm import Session

from scorer.accounts.roles import is_organizer
from scorer.archive import ImageSpec, Listing, list_images, list_references
from scorer.archive.pixel_hashes import Images
from scorer.archive.png_pixels import encode_png
from scorer.archive.selected_images import select_images
from scorer.blobs import Blobs
from scorer.confinement.limited_call import LARGE
from scorer.db import competitions
from scorer.db.tables import Account, ReferenceSet, Submission
from scorer.errors import Conflict, NotFound
from scorer.lifecycle import TrackKind
from scorer.submissions.files import StoredZip, image_zips

MAX_KEPT_BYTES = 64 << 20
"""The most bytes of decoded images that a process caches."""


class StoredImages:
    """Single images from the zips in a blob store.

    Strangers made these zips, so limited processes decode them; the operator sets how many. Decoded images are cached,
    because a page and its pictures use the same ones.
    """

    def __init__(self, blobs: Blobs, *, processes: int) -> None:
        self._blobs = blobs
        self._processes = processes
        self._lock = Lock()
        self._cache: OrderedDict[tuple[str, int, int], Images] = OrderedDict()
        self._cached_bytes = 0
        # Zips never change, and reading large directories takes long.
        self.cached_listing = lru_cache(maxsize=32)(self._read_listing)

    def _read_listing(self, key: str, spec: ImageSpec | None) -> Listing:
        """The directory of an entry's zip, or with ``spec`` None that of a reference set."""
        with self._blobs.open(key) as file:
            return list_references(file) if spec is None else list_images(file, spec)

    def load_entry_image_names(self, session: Session, submission: Submission, kind: TrackKind) -> Sequence[str]:
        """The names of an entry's images, or of those in the first draw. ``NotFound`` if they are gone."""
        return self.cached_listing(_stored_zips(session, submission, kind)[0].key, _build_image_spec(submission)).names

    def load_set_image_names(self, references: ReferenceSet) -> Sequence[str]:
        """The names of the images of a reference set. ``NotFound`` if the set is gone."""
        return self.cached_listing(references.blob_key, None).names

    def load_entry_images(
        self, session: Session, submission: Submission, kind: TrackKind, *, places: Collection[int]
    ) -> dict[int, Images]:
        """Some of an entry's images by index in the concatenation of all draws, (size, size, 3) uint8 each, without
        missing indices. ``NotFound`` if a zip is gone."""
        spec = _build_image_spec(submission)
        found: dict[int, Images] = {}
        for number, stored in enumerate(_stored_zips(session, submission, kind)):
            first = number * spec.count
            within = {place - first for place in places if first <= place < first + spec.count}
            if within:
                images = self._select(stored.key, spec, within, size=spec.size)
                found |= {first + place: image for place, image in images.items()}
        return found

    def load_reference_images(
        self, sets: Sequence[ReferenceSet], wanted: Collection[int], size: int, *, hidden: Collection[int]
    ) -> dict[int, Images]:
        """Reference images by their indices in the concatenation of all ``sets``, without those of the ``hidden`` sets.
        Empty if a set holds features instead of images."""
        images: dict[int, Images] = {}
        if any(set_.holds_features for set_ in sets):
            return images
        first = 0
        for set_ in sets:
            places = {place - first for place in wanted} if set_.id not in hidden else set()
            found = self._select(set_.blob_key, None, places, size=size)
            images |= {first + place: image for place, image in found.items()}
            first += len(self.load_set_image_names(set_))
        return images

    def _select(self, key: str, spec: ImageSpec | None, places: Collection[int], *, size: int) -> dict[int, Images]:
        listing = self.cached_listing(key, spec)
        wanted = {place for place in places if 0 <= place < len(listing.members)}
        with self._blobs.open(key) as file:
            found = self._find(key, size, wanted)
            if wanted == found.keys():
                return found
            # One at a time, because the process that decodes a reference image may need two gigabytes for it.
            with LARGE.turn():
                found = self._find(key, size, wanted)
                missing = wanted - found.keys()
                decoded = select_images(
                    file, listing, missing, size=size, processes=self._processes, of_references=spec is None
                )
                return found | self._keep(key, size, decoded)

    def _find(self, key: str, size: int, places: Collection[int]) -> dict[int, Images]:
        with self._lock:
            found = {place: self._cache[key, size, place] for place in places if (key, size, place) in self._cache}
            for place in found:
                self._cache.move_to_end((key, size, place))
        return found

    def _keep(self, key: str, size: int, decoded: dict[int, Images]) -> dict[int, Images]:
        with self._lock:
            for place, image in decoded.items():
                self._cache[key, size, place] = image
                self._cached_bytes += image.nbytes
            while self._cached_bytes > MAX_KEPT_BYTES:
                self._cached_bytes -= self._cache.popitem(last=False)[1].nbytes
        return decoded


def hidden_sets(session: Session, submission: Submission, account: Account) -> set[int]:
    """The ids of the reference sets with images that this person may not see: none for organizers, for others all sets
    that participants may not train on."""
    if is_organizer(account, submission.competition_id):
        return set()
    attached = competitions.load_references(session, submission.competition_id)
    return {attachment.reference_set_id for role, attachment in attached.items() if role != "train"}


def load_reference_sets(session: Session, provenance: Mapping[str, str]) -> Sequence[ReferenceSet]:
    """The reference sets that a measurement with this provenance was made against, in order."""
    preparation = competitions.preparation_by_key(session, provenance.get("reference", ""))
    return [] if preparation is None else competitions.reference_sets(session, preparation.reference_set_ids)


def build_pairs_png(pairs: Iterable[tuple[Images, Images]]) -> bytes:
    """A PNG of pairs of images of one size: the first image of each pair in the upper row, the second below it."""
    return encode_png(np.concatenate([np.concatenate(row, axis=1) for row in zip(*pairs, strict=True)]))


def _stored_zips(session: Session, submission: Submission, kind: TrackKind) -> Sequence[StoredZip]:
    try:
        return image_zips(session, submission, kind)
    except Conflict as gone:
        raise NotFound("no-pictures", gone.message) from None


def _build_image_spec(submission: Submission) -> ImageSpec:
    return ImageSpec(submission.competition.image_count, submission.competition.image_size)
