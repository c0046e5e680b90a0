"""Provisional scores: quick, imprecise public scores, shown to a team while the final one is computed; never ranked."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy.orm import Session

from scorer.db import competitions, tuning
from scorer.db.jobs import job_queue
from scorer.db.submissions import submissions
from scorer.db.tables import ProvisionalMeasurement, Submission, Track
from scorer.jobs import leases
from scorer.lifecycle import Status
from scorer.metrics.mifid import is_copy, is_penalised, mifid


@dataclass(frozen=True)
class ProvisionalScore:
    """A provisional measurement judged by the current threshold: unranked, and replaced by the final score."""

    precision: str
    fid: float
    memorization_distance: float
    tau: float | None
    penalised: bool | None
    copy: bool
    mifid: float | None
    measured_at: datetime


def record_provisional(
    session: Session,
    claim: leases.Claim,
    *,
    fid: float,
    memorization_distance: float,
    provenance: dict[str, Any],
    now: datetime,
) -> None:
    """Record a measurement in reduced precision while the final one is being made; on the public track only, since
    nobody is shown a private one. Does nothing if the claim no longer holds the job, or has recorded one before."""
    if not claim.public or job_queue.lock_held(session, claim.job_id, claim.holder) is None:
        return
    if session.get(ProvisionalMeasurement, claim.job_id) is None:
        session.add(
            ProvisionalMeasurement(
                job_id=claim.job_id,
                submission_ref=claim.submission_ref,
                track_id=claim.track_id,
                fid=fid,
                memorization_distance=memorization_distance,
                provenance=provenance,
                created_at=now,
            )
        )


def provisional_score_of(session: Session, submission: Submission) -> ProvisionalScore | None:
    """The provisional public score of a submission that is being scored; None otherwise."""
    if submission.status != Status.SCORING:
        return None
    track = competitions.tracks_of(session, submission.competition_id)["public"]
    measured = submissions.newest_provisional(session, submission.ref, track.id)
    return None if measured is None else _judged(session, submission, measured, track)


def provisional_scores_of_jobs(session: Session, job_ids: Collection[int]) -> dict[int, ProvisionalScore]:
    """The provisional scores of running jobs by submission ref."""
    scores = {}
    for measured in submissions.provisional_of_jobs(session, job_ids):
        submission = session.get_one(Submission, measured.submission_ref)
        track = competitions.tracks_of(session, submission.competition_id)["public"]
        scores[submission.ref] = _judged(session, submission, measured, track)
    return scores


def _judged(
    session: Session, submission: Submission, measured: ProvisionalMeasurement, track: Track
) -> ProvisionalScore:
    threshold = tuning.newest_threshold(session, track.id)
    tau = None if threshold is None else threshold.tau
    if submission.team.benchmark:  # never penalised: no distance is below zero
        tau = 0.0
    distance = measured.memorization_distance
    share = submission.copied_share or 0.0
    copy = bool(is_copy(distance, share))
    scored = tau is not None and not copy
    return ProvisionalScore(
        precision=measured.provenance["precision"],
        fid=measured.fid,
        memorization_distance=distance,
        tau=tau,
        penalised=None if tau is None else bool(is_penalised(distance, tau)),
        copy=copy,
        mifid=float(mifid(measured.fid, distance, tau, track.epsilon, copied_share=share)) if scored else None,
        measured_at=measured.created_at,
    )
