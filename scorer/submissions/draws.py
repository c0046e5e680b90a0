"""Generators as entries: what their check found out, and the draws of their images."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import cast

from pydantic import SecretStr
from sqlalchemy.orm import Session

from scorer.competitions import draw_secrets
from scorer.competitions.draw_secrets import Purpose
from scorer.db import competitions
from scorer.db.evidence import shared_images
from scorer.db.jobs import job_queue
from scorer.db.newest_rows import only_row
from scorer.db.submissions import draws as rows
from scorer.db.submissions import submissions
from scorer.db.tables import CheckedGenerator, Draw, GeneratorFile, Submission
from scorer.db.teams import members, merges
from scorer.errors import Invalid
from scorer.generators import seeds
from scorer.generators.latents import Latent
from scorer.generators.onnx_files import Distribution, ValueRange
from scorer.jobs import leases
from scorer.lifecycle import Queue, Status, TrackKind
from scorer.submissions import outcomes


@dataclass(frozen=True)
class NewCheckedGenerator:
    """See :class:`CheckedGenerator`."""

    network_sha256: str
    latent: Latent
    values: ValueRange
    seconds: float
    fixed_images_key: str


@dataclass(frozen=True)
class PublicImages:
    """What is known of the images of the public draws."""

    exact_copies: int
    mirrored_copies: int
    copied_share: float
    """The means over the draws, the first two rounded."""
    pixels_sha256: str
    sprite_key: str


def pass_check(
    session: Session,
    claim: leases.Claim,
    checked: NewCheckedGenerator,
    *,
    is_same: Callable[[str], bool],
    now: datetime,
) -> bool:
    """Record a passed check and queue the public draws. ``is_same``: whether another generator of the team, with
    this key of its fixed images, is nearly the same. False if the claim no longer holds the job."""
    submission = session.get_one(Submission, claim.job.submission_ref)
    # Two generators that are checked at the same time see each other.
    members.lock_teams(session, [merges.current_team(session, submission.team_id).id])
    if not leases.finish_job(session, claim, now):
        return False
    others = rows.team_generators(session, submission)
    same_as_ref = next((other.submission_ref for other in others if is_same(other.fixed_images_key)), None)
    values = vars(checked) | vars(checked.latent)
    values.pop("latent")
    session.add(CheckedGenerator(submission_ref=submission.ref, same_as_ref=same_as_ref, created_at=now, **values))
    submissions.move_submission(session, submission.ref, from_=Status.CHECKING, to=Status.QUEUED, now=now)
    track = competitions.load_tracks(session, submission.competition_id)["public"]
    leases.add_job(session, Queue.DRAW, submission=submission, track_id=track.id, now=now)
    return True


def latent_of(generator: CheckedGenerator | GeneratorFile) -> Latent:
    return Latent(generator.dimension, cast("Distribution", generator.distribution), generator.classes)


def load_digest(
    session: Session, submission: Submission, kind: TrackKind, *, number: int, key: SecretStr | None
) -> bytes:
    """The digest of a draw, which its latents follow from. ``key``: see :func:`draw_secrets.load_secret`."""
    if kind == "private":
        secret = draw_secrets.load_secret(session, submission.competition_id, "private", key=key)
        return seeds.private_digest(secret, number)
    purpose: Purpose = "late" if submission.late else "public"
    checked = rows.load_checked(session, submission.ref)
    return seeds.public_digest(
        draw_secrets.load_secret(session, submission.competition_id, purpose, key=key),
        network_sha256=checked.network_sha256,
        latent=latent_of(checked),
        team_id=submission.team_id,
        number=number,
    )


def record_draw(session: Session, claim: leases.Claim, *, draw: Draw) -> bool:
    """Record a draw, unless an earlier try has. False if the claim no longer holds the job."""
    if job_queue.lock_held(session, claim.job.id, claim.holder) is None:
        return False
    same = {name: getattr(draw, name) for name in ("submission_ref", "track_kind", "number")}
    if only_row(session, Draw, **same) is None:
        session.add(draw)
    return True


def finish_public(session: Session, claim: leases.Claim, images: PublicImages, *, now: datetime) -> bool:
    """Record the images of all public draws and queue their score. False if the claim no longer holds the job."""
    if not leases.finish_job(session, claim, now):
        return False
    submission = session.get_one(Submission, claim.job.submission_ref)
    for name, value in vars(images).items():
        setattr(submission, name, value)
    leases.add_job(session, Queue.SCORE, submission=submission, track_id=claim.job.track_id, now=now)
    return True


def finish_private(session: Session, claim: leases.Claim, hashes_key: str, *, now: datetime) -> bool:
    """Record the hashes of a private draw's images and queue the score of all private draws. False if the claim no
    longer holds the job.

    The private latents are the same for all entries, so nearly equal generators have nearly equal images there.
    """
    if not leases.finish_job(session, claim, now):
        return False
    submission = session.get_one(Submission, claim.job.submission_ref)
    shared_images.add_hashes(session, submission.ref, hashes_key, now=now)
    leases.add_job(session, Queue.SCORE, submission=submission, track_id=claim.job.track_id, private=True, now=now)
    return True


def end_drawing(session: Session, claim: leases.Claim, error: Invalid, *, now: datetime) -> bool:
    """End the draws of a track with a fault. A public one rejects the entry; a private one leaves it without a private
    score, and is shown with the private board. False if the claim no longer holds the job."""
    if claim.public:
        return outcomes.reject(session, claim, error, now=now, from_=Status.QUEUED)
    return leases.finish_job(session, claim, now)
