"""Recording of evidence and image comparisons that a worker has computed."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
from sqlalchemy.orm import Session

from scorer.db.evidence import shared_images
from scorer.db.tables import Evidence, Submission
from scorer.jobs import leases
from scorer.metrics.copying.shared_images import EntryComparison, ImagePairs
from scorer.metrics.cosine import Indices

MAX_EXAMPLES = 8
"""The number of pairs of images that are recorded per two entries."""


@dataclass(frozen=True)
class NewEvidence:
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
            job_id=claim.job.id,
            submission_ref=claim.job.submission_ref,
            track_id=claim.job.track_id,
            created_at=now,
            **row.pop("numbers"),
            **row,
        )
    )
    return True


def record_comparison(
    session: Session,
    submission: Submission,
    comparison: EntryComparison,
    *,
    same_latents: Mapping[int, float],
    now: datetime,
) -> None:
    """Record which images an entry shares with others, and which generators are nearly the same (``same_latents``, by
    ref). Pairs that another entry's comparison has recorded stay."""
    none: Indices = np.arange(0)
    pairs = []
    for ref in comparison.shared.keys() | same_latents.keys():
        shared = comparison.shared.get(ref, ImagePairs(none, none, none))
        # Without shared images, the first images show how similar the generators are: those of equal latents.
        examples = _choose_examples(shared, later=submission.ref > ref) or [
            [place, place] for place in range(MAX_EXAMPLES)
        ]
        pairs.append(
            {
                "submission_ref": max(submission.ref, ref),
                "other_ref": min(submission.ref, ref),
                "competition_id": submission.competition_id,
                "images": len(shared),
                "equal": shared.equal,
                "share": len(shared) / len(comparison.common),
                "examples": examples,
                "same_latents": same_latents.get(ref),
                "created_at": now,
            }
        )
    row = {
        "submission_ref": submission.ref,
        "compared": comparison.compared,
        "common": int(np.count_nonzero(comparison.common)),
        "created_at": now,
    }
    shared_images.add_comparison(session, row, pairs)


def _choose_examples(shared: ImagePairs, *, later: bool) -> list[list[int]]:
    """Pairs of indices from the nearest to the farthest, the later entry's index first."""
    if not len(shared):
        return []
    rows = np.unique(np.linspace(0, len(shared) - 1, MAX_EXAMPLES).astype(np.int64))
    images = (shared.own, shared.other) if later else (shared.other, shared.own)
    examples: list[list[int]] = np.stack([side[rows] for side in images], axis=1).tolist()
    return examples
