"""What organizers look at beside the numbers: some images of the best and of the not so good, and who hands in what
somebody else did."""

import io
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from PIL import Image
from sqlalchemy.orm import Session

from scorer.archive.sprite_sheet import Layout, layout_of
from scorer.competitions.competition_state import CompetitionState, visible_track
from scorer.db.leaderboard import board
from scorer.db.submissions import duplicates
from scorer.db.submissions import submissions as submissions_submissions
from scorer.db.submissions.duplicates import SharedEntry
from scorer.db.tables import Account, Submission
from scorer.leaderboard.rows import rows_of
from scorer.lifecycle import TrackKind

RANKS = (1, 2, 3, 5, 10, 50, 100)
IMAGES = 10
MAX_SHARED = 1000


@dataclass(frozen=True)
class Exhibit:
    """A team's place on a board and its entry, whose ``sprite_key`` is None where there are no images of it."""

    rank: int
    team: str
    score: float
    submission: Submission


@dataclass(frozen=True)
class SharedSubmissions:
    """Entries of different teams with the same zip (``zip``), or with the same images under whatever names
    (``images``), oldest first."""

    same: str
    entries: Sequence[SharedEntry]


def exhibits(session: Session, state: CompetitionState, kind: TrackKind, account: Account) -> list[Exhibit]:
    """The entries that hold :data:`RANKS` on a track's board; ``Forbidden`` for the private one before publication."""
    visible_track(state, kind, account)
    lines = rows_of(session, state.competition, state.tracks, kind)
    found = {rank: line for rank in RANKS for line in lines.page(rank - 1, 1)}
    refs = [line.ref for line in found.values()]
    names, submissions = board.entry_info_of(session, refs), submissions_submissions.submissions_by_ref(session, refs)
    return [
        Exhibit(rank, names[line.ref].team, line.score, submission)
        for (rank, line), submission in zip(found.items(), submissions, strict=True)
    ]


def strip_of(sprite: bytes, submission: Submission, seed: int) -> bytes:
    """A PNG of :data:`IMAGES` of the images in a submission's sprite, side by side, drawn by ``seed``."""
    layout = layout_of(submission.competition.image_count, submission.competition.image_size)
    random = np.random.default_rng((seed, submission.ref))
    chosen = np.sort(random.choice(layout.count, min(IMAGES, layout.count), replace=False))
    with Image.open(io.BytesIO(sprite)) as picture:
        tiles = [picture.crop(_box(layout, int(place))) for place in chosen]
    strip = Image.new("RGB", (layout.tile * len(tiles), layout.tile))
    for place, tile in enumerate(tiles):
        strip.paste(tile, (place * layout.tile, 0))
    buffer = io.BytesIO()
    strip.save(buffer, "PNG")
    return buffer.getvalue()


def _box(layout: Layout, place: int) -> tuple[int, int, int, int]:
    left, top = place % layout.columns * layout.tile, place // layout.columns * layout.tile
    return left, top, left + layout.tile, top + layout.tile


def shared_submissions_of(session: Session, state: CompetitionState) -> list[SharedSubmissions]:
    """Every zip, and every set of images, that more than one team has handed in; the newest :data:`LATEST`."""
    same_zip = duplicates.shared_contents(session, state.competition.id, "sha256", most=MAX_SHARED)
    same_images = duplicates.shared_contents(session, state.competition.id, "pixels_sha256", most=MAX_SHARED)
    # The same zip has the same images: it is told once.
    told = {frozenset(row.id for row in group) for group in same_zip}
    others = [group for group in same_images if frozenset(row.id for row in group) not in told]
    return [SharedSubmissions("zip", group) for group in same_zip] + [
        SharedSubmissions("images", group) for group in others
    ]
