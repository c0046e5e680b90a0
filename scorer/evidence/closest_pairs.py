"""The closest pairs of an entry: generated images with the reference images nearest to them, read from the zips.

Extractors treat mirror images as different, so pixels are compared both upright and mirrored. Sheets of the images that
two entries share are made in the same way.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sqlalchemy.orm import Session

from scorer.acting import Acting
from scorer.archive.pixel_hashes import Images, mirror_images
from scorer.competitions.competition_state import CompetitionState, load_state
from scorer.db import competitions
from scorer.db.evidence import shared_images as rows
from scorer.db.leaderboard import board_details
from scorer.db.newest_rows import newest_row
from scorer.db.submissions import submissions
from scorer.db.submissions.submissions import submissions_by_ref
from scorer.db.tables import Account, Measurement, Ruling, Submission, Track
from scorer.errors import NotFound
from scorer.evidence.images import StoredImages, build_pairs_png, hidden_sets, load_reference_sets
from scorer.lifecycle import TRACK_KINDS, Phase, TrackKind
from scorer.submissions.access import find_with_rulings, unknown_submission
from scorer.submissions.files import compared_kind

MAX_PAIRS = 8
"""The number of pairs shown. A measurement records more."""


@dataclass(frozen=True, eq=False)
class PairImages:
    """A pair of images, (size, size, 3) uint8 each: ``image`` of the entry and ``reference`` of a reference set.

    ``distance`` is the cosine distance of their features. ``difference`` is the root mean square difference of their
    pixels in grey levels, ``mirrored_difference`` the same with the mirrored reference image.
    """

    number: int
    place: int
    """The image's index in its zip, in the order of names."""
    reference_name: str
    distance: float
    image: Images
    reference: Images
    difference: float
    mirrored_difference: float

    @property
    def is_mirrored(self) -> bool:
        return self.mirrored_difference < self.difference


def load_entry_pairs(
    session: Session,
    stored: StoredImages,
    submission: Submission,
    *,
    account: Account,
    kinds: Sequence[TrackKind] = TRACK_KINDS,
) -> dict[str, list[PairImages]]:
    """The closest pairs of an entry on some tracks that this person may see. Empty for a track without a
    measurement."""
    pairs: dict[str, list[PairImages]] = {}
    for kind in kinds:
        measurement = _newest_measurement(session, submission, kind)
        pairs[kind] = (
            []
            if measurement is None
            else load_pairs(session, stored, submission, kind=kind, measurement=measurement, account=account)
        )
    return pairs


def _newest_measurement(session: Session, submission: Submission, kind: TrackKind) -> Measurement | None:
    track = competitions.load_tracks(session, submission.competition_id)[kind]
    return submissions.newest_measurement(session, submission.ref, track.id)


def require_visible_pairs(acting: Acting, submission_id: str, kind: TrackKind) -> tuple[Submission, Measurement]:
    """The entry and its measurement, if this person may see the closest pairs. ``NotFound`` otherwise.

    Reviewers and organizers may see all pairs, the entry's own team those of :func:`tracks_shown_to_team`.
    """
    submission, reviews = find_with_rulings(acting.session, submission_id, acting.actor)
    if not reviews:
        state = load_state(acting.session, submission.competition.slug, acting.now)
        if kind not in tracks_shown_to_team(acting.session, state, submission):
            raise unknown_submission(submission_id)
    measurement = _newest_measurement(acting.session, submission, kind)
    if measurement is None:
        raise NotFound("not-measured", f"This entry has not been measured on the {kind} track.")
    return submission, measurement


def tracks_shown_to_team(session: Session, state: CompetitionState, submission: Submission) -> Sequence[TrackKind]:
    """The tracks with closest pairs that an entry's team may see, so that it knows what to appeal against.

    These are the tracks that penalise the entry: the public one from the deadline on, the private one once a board is
    published. After a ruling, the team sees the public one at any time.
    """
    penalised = [kind for kind, track in state.tracks.items() if _is_penalised(session, track, submission)]
    shown: list[TrackKind] = []
    closed = state.phase not in {Phase.DRAFT, Phase.OPEN}
    if team_sees_evidence(session, submission) or (closed and "public" in penalised):
        shown.append("public")
    if state.published and "private" in penalised:
        shown.append("private")
    return shown


def _is_penalised(session: Session, track: Track, submission: Submission) -> bool:
    score = board_details.load_score(session, track.id, submission.ref)
    return score is not None and (score.penalised or score.copy)


def team_sees_evidence(session: Session, submission: Submission) -> bool:
    """Whether an entry's team may see the evidence against it, that is, after a ruling."""
    return newest_row(session, Ruling, submission_ref=submission.ref) is not None


def load_pairs(
    session: Session,
    stored: StoredImages,
    submission: Submission,
    *,
    kind: TrackKind,
    measurement: Measurement,
    account: Account,
) -> list[PairImages]:
    """The closest pairs of a measurement, closest first. Leaves out pairs with deleted images and, except for
    organizers, pairs with reference images that participants may not see."""
    recorded = measurement.closest_pairs
    if not recorded:
        return []
    size = submission.competition.image_size
    try:
        images = stored.load_entry_images(session, submission, kind, places={pair["image"] for pair in recorded})
        sets = load_reference_sets(session, measurement.provenance)
        hidden = hidden_sets(session, submission, account)
        references = stored.load_reference_images(sets, {pair["reference"] for pair in recorded}, size, hidden=hidden)
    except NotFound:
        return []
    return list(_pairs(recorded, images, references))[:MAX_PAIRS]


def _pairs(
    recorded: Sequence[Mapping[str, Any]], images: Mapping[int, Images], references: Mapping[int, Images]
) -> Iterator[PairImages]:
    for number, pair in enumerate(recorded, 1):
        image, reference = images.get(pair["image"]), references.get(pair["reference"])
        if image is None or reference is None:
            continue
        yield PairImages(
            number=number,
            place=pair["image"],
            reference_name=pair["reference_name"].partition("/")[2],
            distance=pair["distance"],
            image=image,
            reference=reference,
            difference=difference(image, reference),
            mirrored_difference=difference(image, mirror_images(reference[None])[0]),
        )


def difference(one: Images, other: Images) -> float:
    """The root mean square difference of two images' pixels, in grey levels (0 to 255)."""
    return float(np.sqrt(np.mean((one.astype(np.float64) - other.astype(np.float64)) ** 2)))


def pairs_sheet(pairs: Sequence[PairImages]) -> bytes:
    """A PNG of all pairs: generated images in the first row, reference images in the second, mirrored if that matches
    better. ``NotFound`` without pairs."""
    if not pairs:
        raise NotFound("no-pairs", "This entry has no pairs of images to show.")
    return build_pairs_png((pair.image, _better_match(pair.image, pair.reference)) for pair in pairs)


def shared_images_sheet(session: Session, images: StoredImages, submission: Submission, *, other_ref: int) -> bytes:
    """A PNG of images that an entry shares with another team's: its own in the first row, the other entry's in the
    second, mirrored if that matches better. ``NotFound`` if they share none, or a zip is gone."""
    sharing = rows.sharing_entries(session, [submission.ref])
    examples = next((entry.examples for entry in sharing if entry.ref == other_ref), None)
    if not examples:
        raise NotFound("no-pictures", "These two entries have no shared images to show.")
    [other] = submissions_by_ref(session, [other_ref])
    try:
        kind = compared_kind(submission)
        own = images.load_entry_images(session, submission, kind, places={one for one, _ in examples})
        others = images.load_entry_images(session, other, kind, places={another for _, another in examples})
    except NotFound:  # its message would name the blob's key
        raise NotFound("no-pictures", "The images of these entries are no longer stored.") from None
    return build_pairs_png((own[one], _better_match(own[one], others[another])) for one, another in examples)


def _better_match(image: Images, other: Images) -> Images:
    mirrored = mirror_images(other[None])[0]
    return mirrored if difference(image, mirrored) < difference(image, other) else other
