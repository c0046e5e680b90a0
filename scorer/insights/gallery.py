"""The gallery: sample images of submissions along the board, and submissions shared between teams."""

import io
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from PIL import Image
from sqlalchemy.orm import Session

from scorer.archive.png_pixels import encode_png
from scorer.archive.sprite_sheet import compute_layout
from scorer.competitions.competition_state import CompetitionState, require_results
from scorer.db.leaderboard import board_details
from scorer.db.submissions import duplicates
from scorer.db.submissions.duplicates import SharedEntry
from scorer.db.submissions.submissions import submissions_by_ref
from scorer.db.tables import Account, Submission
from scorer.leaderboard.rows import load_listing
from scorer.lifecycle import TrackKind

RANKS = (1, 2, 3, 5, 10, 50, 100)
IMAGES = 10
MAX_SHARED = 1000


@dataclass(frozen=True)
class GalleryEntry:
    """A team's rank on a board and its submission. Without stored images, its ``sprite_key`` is None."""

    rank: int
    team: str
    score: float
    submission: Submission


@dataclass(frozen=True)
class SharedSubmissions:
    """Submissions of different teams, oldest first, with the same bytes (``same`` is ``zip``) or the same images under
    any file names (``images``)."""

    same: str
    entries: Sequence[SharedEntry]


def gallery_entries(
    session: Session, state: CompetitionState, kind: TrackKind, *, account: Account
) -> list[GalleryEntry]:
    """The submissions at :data:`RANKS` of a track's board. ``Forbidden`` for the private track before publication."""
    require_results(state, kind, account)
    listing = load_listing(session, state, kind)
    rows = listing.at_ranks(np.array([rank for rank in RANKS if rank <= len(listing)], np.int64))
    refs = [row.ref for row in rows]
    names = board_details.load_entry_info(session, refs)
    submissions = submissions_by_ref(session, refs)
    return [
        GalleryEntry(row.rank, names[row.ref].team, row.score, submission)
        for row, submission in zip(rows, submissions, strict=True)
    ]


def build_strip(sprite: bytes, submission: Submission, seed: int) -> bytes:
    """A PNG of :data:`IMAGES` images from a submission's sprite sheet in a row, sampled with ``seed``."""
    layout = compute_layout(submission.competition.image_count, submission.competition.image_size)
    random = np.random.default_rng((seed, submission.ref))
    places = np.sort(random.choice(layout.count, min(IMAGES, layout.count), replace=False))
    with Image.open(io.BytesIO(sprite)) as picture:
        rows = np.asarray(picture).reshape(-1, layout.tile, layout.columns, layout.tile, 3)
    row, column = np.divmod(places, layout.columns)
    return encode_png(np.concatenate(list(rows[row, :, column]), axis=1))


def load_shared_submissions(session: Session, state: CompetitionState) -> list[SharedSubmissions]:
    """Every zip, and every set of images, that more than one team has submitted. The newest :data:`MAX_SHARED` of
    each."""
    same_zip = duplicates.shared_contents(session, state.competition.id, "sha256", limit=MAX_SHARED)
    same_images = duplicates.shared_contents(session, state.competition.id, "pixels_sha256", limit=MAX_SHARED)
    # Equal zips have equal images, so list such a group only once.
    listed = {frozenset(row.id for row in group) for group in same_zip}
    others = [group for group in same_images if frozenset(row.id for row in group) not in listed]
    return [SharedSubmissions("zip", group) for group in same_zip] + [
        SharedSubmissions("images", group) for group in others
    ]
