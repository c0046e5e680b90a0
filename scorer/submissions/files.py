"""The stored files of a submission: its zip, or its generator with the zips of its draws, and its sprite sheet."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from sqlalchemy.orm import Session

from scorer import audit_log
from scorer.accounts.roles import is_organizer
from scorer.acting import Acting
from scorer.db import competitions
from scorer.db.newest_rows import only_row
from scorer.db.submissions import draws
from scorer.db.tables import Competition, Draw, Submission
from scorer.errors import Conflict, NotFound
from scorer.lifecycle import EntryKind, Status, TrackKind
from scorer.submissions import access

SUFFIXES: Mapping[EntryKind, str] = {"images": ".zip", "generator": ".onnx"}
"""The ends of the names of entries' files."""


def entry_key(competition: Competition, name: str) -> str:
    """Return the blob key for the file of a new entry."""
    return f"submissions/{name}{SUFFIXES[competition.entries]}"


def find_sprite(submission: Submission) -> str | None:
    """The blob key of a submission's sprite sheet if it can be seen: that of a generator once it is scored, because
    until then its team could cancel it at no cost and submit another."""
    is_shown = submission.competition.entries == "images" or submission.status == Status.SCORED
    return submission.sprite_key if is_shown else None


def sprite_key(submission: Submission) -> str:
    """Return the blob key of a submission's sprite sheet; ``NotFound`` if it can't be seen."""
    key = find_sprite(submission)
    if key is None:
        raise NotFound("no-sprite", "This entry has no preview of its images.")
    return key


class ZipRemoved(Conflict):
    """The file of a finished competition's entry was removed; no retry can measure it."""


@dataclass(frozen=True)
class StoredZip:
    """A file of a submission: its blob key and the SHA-256 (hex) of its bytes. ``name`` is unique among all
    submissions and draws."""

    key: str
    sha256: str
    name: str


def stored_zip(submission: Submission) -> StoredZip:
    """Return the stored zip or generator of a submission.

    ``Conflict`` (``imported``) for an imported submission, which has no file; ``ZipRemoved`` (``zip-removed``) if the
    file was removed.
    """
    if submission.zip_removed_at is not None:
        raise ZipRemoved(
            "zip-removed",
            f"The file of {submission.id} was removed on {submission.zip_removed_at:%Y-%m-%d}, after the competition. "
            "Its measurements remain, but its images can't be shown or measured again.",
        )
    if submission.blob_key is None or submission.sha256 is None:
        raise Conflict(
            "imported", f"{submission.id} was imported from a table of results and has no file to measure again."
        )
    return StoredZip(submission.blob_key, submission.sha256, submission.id)


def image_zips(session: Session, submission: Submission, kind: TrackKind) -> list[StoredZip]:
    """Return the zips with a submission's images on a track: the uploaded one, or one per draw, in order.

    Raises the errors of :func:`stored_zip`, and ``Conflict`` (``not-drawn``) if a draw is missing.
    """
    uploaded = stored_zip(submission)
    if submission.competition.entries == "images":
        return [uploaded]
    drawn = [
        stored
        for draw in draws.load_draws(session, submission.ref, kind)
        if (stored := _drawn_zip(submission, draw)) is not None
    ]
    if len(drawn) != submission.competition.draws[kind]:
        raise Conflict("not-drawn", f"The images of {submission.id} are not drawn, or have been removed.")
    return drawn


def _drawn_zip(submission: Submission, draw: Draw) -> StoredZip | None:
    """The stored images of a draw; None if it failed, or if they have been removed."""
    if draw.blob_key is None or draw.sha256 is None:
        return None
    return StoredZip(draw.blob_key, draw.sha256, draw_name(submission, cast("TrackKind", draw.track_kind), draw.number))


def draw_name(submission: Submission, kind: TrackKind, number: int) -> str:
    """Return the name of a draw's zip (:attr:`StoredZip.name`)."""
    return f"{submission.id}-{kind}-{number}"


def compared_kind(submission: Submission) -> TrackKind:
    """Return the track with the images that are compared with other teams' entries. Only private draws have the same
    latents for all entries."""
    return "private" if submission.competition.entries == "generator" else "public"


def load_generator_for_download(acting: Acting, submission_id: str) -> tuple[Submission, StoredZip]:
    """Return an entry and its generator, for its team, organizers and reviewers. Records downloads by others than the
    team in the audit log.

    ``NotFound`` for everybody else, and if the entry is a zip; the errors of :func:`stored_zip`.
    """
    submission, _ = access.find_with_rulings(acting.session, submission_id, acting.actor)
    if submission.competition.entries != "generator":
        raise NotFound("no-generator", "This entry is a zip of images, not a generator.")
    stored = stored_zip(submission)
    if not access.is_own(acting.session, submission, acting.actor):
        subject, after = f"submission:{submission.id}", {"sha256": stored.sha256}
        audit_log.record_action(acting, "generator.downloaded", subject, after=after)
    return submission, stored


def load_draw_for_download(
    acting: Acting, submission_id: str, kind: TrackKind, *, number: int
) -> tuple[Submission, Draw, StoredZip]:
    """Return an entry and a draw with its images, for its team, organizers and reviewers. The team gets public draws
    of a scored entry, because cancelling an unscored one costs nothing. The team and reviewers get private draws once
    a board is published, because images can show their latents.

    ``NotFound`` for everybody else, and without such images: ``no-draw``.
    """
    submission, reviews = access.find_with_rulings(acting.session, submission_id, acting.actor)
    draw = only_row(acting.session, Draw, submission_ref=submission.ref, track_kind=kind, number=number)
    public = kind == "public" or competitions.is_published(acting.session, submission.competition_id)
    shown = is_organizer(acting.actor, submission.competition_id) or (
        public and (reviews or submission.status == Status.SCORED)
    )
    stored = _drawn_zip(submission, draw) if draw is not None and shown else None
    if draw is None or stored is None:
        raise NotFound("no-draw", f"This entry has no images of draw {number} on the {kind} track that you may see.")
    return submission, draw, stored
