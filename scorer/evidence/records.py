"""Evidence of entries, from the job that finds it to the row: ``ask``, ``record``."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy.orm import Session

from scorer.db.tables import Evidence
from scorer.jobs import leases


@dataclass(frozen=True)
class NewEvidence:
    """What a worker has found of a submission on a track, beside one measurement."""

    preparation_id: int
    measurement_id: int
    seed: int
    findings: list[dict[str, Any]]
    details: dict[str, Any]
    numbers: dict[str, Any]
    """The table's columns of numbers, by name."""
    provenance: dict[str, Any]


def record_evidence(session: Session, claim: leases.Claim, examined: NewEvidence, *, now: datetime) -> bool:
    """Keep evidence, once; False when the job was no longer that worker's."""
    if not leases.finish_job(session, claim, now):
        return False
    row = vars(examined).copy()
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
