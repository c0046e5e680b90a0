"""Provisional scores: rough, of the public track, shown to a team while the final one is computed. Nothing ranks by
them."""

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
    """A provisional public score, judged: rough, unranked, and gone as soon as the final one is there."""

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
    """Keep what a rougher precision found while the measurement itself is being made. Only of a public track: nobody
    is shown a private one. Nothing if the job is no longer that worker's, or has given one before."""
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
    """The provisional public score of a submission that is being scored, else None."""
    if submission.status != Status.SCORING:
        return None
    track = competitions.tracks_of(session, submission.competition_id)["public"]
    measured = submissions.newest_provisional(session, submission.ref, track.id)
    return None if measured is None else _judged(session, submission, measured, track)


def provisional_scores_of_jobs(session: Session, job_ids: Collection[int]) -> dict[int, ProvisionalScore]:
    """The provisional scores that running jobs have found so far, by the ref of the submission."""
    found = {}
    for measured in submissions.provisional_of_jobs(session, job_ids):
        submission = session.get_one(Submission, measured.submission_ref)
        track = competitions.tracks_of(session, submission.competition_id)["public"]
        found[submission.ref] = _judged(session, submission, measured, track)
    return found


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
