"""Recording of evidence: writes the row when a worker's job is done."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy.orm import Session

from scorer.db.tables import Evidence
from scorer.jobs import leases


@dataclass(frozen=True)
class NewEvidence:
    """The evidence of a submission on a track, beside one measurement."""

    preparation_id: int
    measurement_id: int
    seed: int
    findings: list[dict[str, Any]]
    details: dict[str, Any]
    numbers: dict[str, Any]
    """The table's columns of quantities, by name."""
    provenance: dict[str, Any]


def record_evidence(session: Session, claim: leases.Claim, evidence: NewEvidence, *, now: datetime) -> bool:
    """Record evidence and finish its job; False if the claim no longer holds the job."""
    if not leases.finish_job(session, claim, now):
        return False
    row = vars(evidence).copy()
    session.add(
        Evidence(
            job_id=claim.job_id,
            submission_ref=claim.submission_ref,
            track_id=claim.track_id,
            created_at=now,
            **row.pop("numbers"),
            **row,
        )
    )
    return True
