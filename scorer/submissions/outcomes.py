"""Outcomes of a submission's jobs: check passed, rejected, measured, cancelled."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy.orm import Session

from scorer.acting import Acting
from scorer.archive import TrainingImageCopies
from scorer.competitions import competition_state, penalty_notices, shown_tracks
from scorer.db import competitions, rescoring
from scorer.db.evidence import shared_images
from scorer.db.jobs import job_queue
from scorer.db.leaderboard import ranked_entries
from scorer.db.submissions import submissions
from scorer.db.tables import Measurement, Submission
from scorer.errors import Conflict, Forbidden, Invalid
from scorer.jobs import leases
from scorer.lifecycle import CANCELLABLE, Queue, Status
from scorer.notifications import notices
from scorer.submissions.access import find_submission, is_own


def queue_evidence(session: Session, submission: Submission, track_id: int, *, now: datetime) -> None:
    """Queue the evidence job behind all scoring jobs."""
    leases.add_job(session, Queue.EVIDENCE, submission=submission, track_id=track_id, private=True, now=now)


@dataclass(frozen=True)
class NewMeasurement:
    """See docs/explanation/metrics.md#the-score."""

    scorer_version: str
    fid: float
    memorization_distance: float
    distance_se: float | None
    closest_pairs: list[dict[str, Any]]
    histogram: dict[str, Any]
    artifact_key: str
    provenance: dict[str, Any] = field(default_factory=dict)
    fid_spread: float | None = None
    draws: list[dict[str, Any]] | None = None


def pass_check(
    session: Session,
    claim: leases.Claim,
    copies: TrainingImageCopies,
    *,
    pixels_sha256: str,
    sprite_key: str | None = None,
    hashes_key: str | None = None,
    now: datetime,
) -> bool:
    """Record a passed deep check and queue scoring on the public track. False if the claim no longer holds the job."""
    if not leases.finish_job(session, claim, now):
        return False
    submission = session.get_one(Submission, claim.job.submission_ref)
    submission.exact_copies, submission.mirrored_copies = copies.exact, copies.mirrored
    submission.copied_share = copies.share
    submission.pixels_sha256 = pixels_sha256
    submission.sprite_key = sprite_key
    session.flush()
    if hashes_key is not None:
        shared_images.add_hashes(session, submission.ref, hashes_key, now=now)
    submissions.move_submission(session, submission.ref, from_=Status.CHECKING, to=Status.QUEUED, now=now)
    public = competitions.load_tracks(session, submission.competition_id)["public"]
    leases.add_job(session, Queue.SCORE, submission=submission, track_id=public.id, now=now)
    return True


def reject(
    session: Session, claim: leases.Claim, error: Invalid, *, now: datetime, from_: Status = Status.CHECKING
) -> bool:
    """Reject a submission that failed its deep check or a draw, with the first ten faults. It does not count in the
    daily limit.

    False if the claim no longer holds the job.
    """
    if claim.job.submission_ref is None or not leases.finish_job(session, claim, now):
        return False
    submissions.move_submission(
        session,
        claim.job.submission_ref,
        from_=from_,
        to=Status.REJECTED,
        now=now,
        reason=error.message,
        faults=list(error.faults[:10]),
        finished_at=now,
    )
    submission = session.get_one(Submission, claim.job.submission_ref)
    notices.notify_end(session, submission, notices.Kind.ENTRY_REJECTED, reason=error.message, now=now)
    return True


def record_measurement(session: Session, claim: leases.Claim, measured: NewMeasurement, *, now: datetime) -> bool:
    """Record a measurement once, and queue its evidence and its rescoring by open campaigns over all entries.

    A public measurement also queues the private track, except for late submissions. False, without recording anything,
    if the claim no longer holds the job.
    """
    ref, track_id = claim.job.submission_ref, claim.job.track_id
    if ref is None or track_id is None:
        return False
    submission = session.get_one(Submission, ref)
    # The lock prevents a publication, another private track and a new shown track during this transaction: a board is
    # published as of a moment, and new tracks queue all scored entries. They also lock the competition before jobs.
    competitions.lock_competition(session, submission.competition.slug, share=True)
    if not leases.finish_job(session, claim, now):
        return False
    campaign_id = rescoring.find_reference_campaign(session, track_id, measured.provenance.get("reference"))
    _add_measurement(session, claim, submission, measured=measured, campaign_id=campaign_id, now=now)
    queue_evidence(session, submission, track_id, now=now)
    for campaign in rescoring.open_campaigns(session, track_id=track_id):
        if campaign.submission_refs is None and not campaign.keeps_references:
            leases.add_job(
                session,
                Queue.RESCORE,
                submission=submission,
                track_id=track_id,
                campaign_id=campaign.id,
                private=True,
                now=now,
            )
    if claim.public:
        submissions.move_submission(session, ref, from_=Status.SCORING, to=Status.SCORED, now=now, finished_at=now)
        session.refresh(submission)
        shown_tracks.queue_entry(session, submission, now=now)
        if not submission.late:
            private = competitions.load_tracks(session, submission.competition_id)["private"]
            queue = Queue.DRAW if submission.competition.entries == "generator" else Queue.SCORE
            leases.add_job(session, queue, submission=submission, track_id=private.id, private=True, now=now)
        notices.notify_end(session, submission, notices.Kind.ENTRY_SCORED, now=now)
    elif competitions.is_published(session, submission.competition_id):
        state = competition_state.load_state(session, submission.competition.slug, now)
        penalty_notices.notify_measured(session, state, submission, now=now)
    return True


def record_rescored(session: Session, claim: leases.Claim, measured: NewMeasurement, *, now: datetime) -> bool:
    """Record the measurement of a rescoring campaign once; it counts while the campaign is in force.

    False, without recording anything, if the claim no longer holds the job.
    """
    if not leases.finish_job(session, claim, now):
        return False
    submission = session.get_one(Submission, claim.job.submission_ref)
    _add_measurement(session, claim, submission, measured=measured, campaign_id=claim.job.campaign_id, now=now)
    return True


def _add_measurement(
    session: Session,
    claim: leases.Claim,
    submission: Submission,
    *,
    measured: NewMeasurement,
    campaign_id: int | None,
    now: datetime,
) -> None:
    row = {"job_id": claim.job.id, "submission_ref": submission.ref, "track_id": claim.job.track_id}
    created_at = _measured_at(session, submission, now)
    session.add(Measurement(**row, **vars(measured), campaign_id=campaign_id, created_at=created_at))


def _measured_at(session: Session, submission: Submission, now: datetime) -> datetime:
    """Return ``now``, or a moment after the published board's if that is later: this worker's clock may be behind."""
    as_of = ranked_entries.final_as_of(session.connection(), submission.competition_id)
    return now if as_of is None else max(now, as_of + timedelta(microseconds=1))


def cancel(acting: Acting, submission_id: str) -> Submission:
    """Cancel a submission of the account's team before its scoring begins; it does not count then. Idempotent.

    ``Conflict`` once scoring has begun or the submission has ended.
    """
    submission = find_submission(acting.session, submission_id, acting.actor)
    if submission.account_id != acting.actor.id and not is_own(acting.session, submission, acting.actor):
        raise Forbidden("not-yours", "Only the entry's own team can cancel it.")
    # A locked job neither starts nor ends, so the status no longer changes.
    job_queue.lock_unfinished(acting.session, submission.ref)
    acting.session.refresh(submission)
    status = Status(submission.status)
    if status is Status.CANCELLED:
        return submission
    if status not in CANCELLABLE:
        began = status in {Status.SCORING, Status.SCORED}
        why = "The scoring of this entry has begun" if began else f"This entry is already {status}"
        raise Conflict("too-late-to-cancel", f"{why}. You can only cancel an entry while it is waiting.", state=status)
    job_queue.cancel_jobs(acting.session, acting.now, submission_ref=submission.ref)
    submissions.move_submission(
        acting.session, submission.ref, from_=status, to=Status.CANCELLED, now=acting.now, finished_at=acting.now
    )
    acting.session.refresh(submission)
    return submission
