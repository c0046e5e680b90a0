"""Receipts: the scores of an entry and what they were measured with, as anybody may be shown them."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.orm import Session

from scorer.competitions.competition_state import CompetitionState, state_of
from scorer.db.tables import Account, Submission
from scorer.errors import NotFound
from scorer.leaderboard import submission_scores
from scorer.leaderboard.submission_scores import JudgedMeasurement
from scorer.lifecycle import Phase, Status, TrackKind
from scorer.submissions import access
from scorer.teams import teams

VERSIONS = ("python", "pillow", "numpy", "scipy", "blas", "torch", "timm", "torch-fidelity")
"""What a provenance tells of software that a receipt tells, too."""


@dataclass(frozen=True)
class ReceiptScore:
    """An entry's score on a track, and what it was measured with; None where the provenance does not say."""

    track: TrackKind
    mifid: float | None
    fid: float
    memorization_distance: float
    tau: float | None
    penalised: bool | None
    copy: bool
    disqualified: bool
    rank: int | None
    """The team's rank when the receipt was made, if this entry is its best one."""
    extractor: str
    weights_sha256: str | None
    reference: str | None
    """The SHA-256 of all that the track's reference statistics were computed from."""
    scorer_version: str
    versions: Mapping[str, str]
    measured_at: datetime


@dataclass(frozen=True)
class ReceiptContents:
    """What a receipt says of an entry, as of ``issued_at``."""

    issuer: str
    """The address of the service."""
    issued_at: datetime
    competition: str
    title: str
    phase: Phase
    submission: str
    team: str
    zip_sha256: str | None
    """None for an imported entry, which has no zip."""
    accepted_at: datetime
    late: bool
    scores: Sequence[ReceiptScore]


def receipt_of(
    session: Session, submission_id: str, account: Account, *, issuer: str, now: datetime
) -> ReceiptContents:
    """The receipt of an entry that the account may see. Whoever asks, it has private numbers only once they are
    published. ``NotFound`` (``no-score``) for an entry without one."""
    submission = access.find_submission(session, submission_id, account)
    if submission.status != Status.SCORED:
        raise NotFound("no-score", f"This entry has no score: it is {submission.status}.")
    state = state_of(session, submission.competition.slug, now)
    return ReceiptContents(
        issuer=issuer,
        issued_at=now,
        competition=state.competition.slug,
        title=state.competition.title,
        phase=state.phase,
        submission=submission.id,
        team=teams.current_team_of(session, submission).name,
        zip_sha256=submission.sha256,
        accepted_at=submission.accepted_at,
        late=submission.late,
        scores=_public_scores(session, submission, state),
    )


def _public_scores(session: Session, submission: Submission, state: CompetitionState) -> list[ReceiptScore]:
    judged = submission_scores.measurements_of(session, submission, None, ranked=True)
    return [_score_of(each, state.tracks[each.track].extractor) for each in judged]


def _score_of(judged: JudgedMeasurement, extractor: str) -> ReceiptScore:
    measurement = judged.measurement
    provenance = measurement.provenance
    return ReceiptScore(
        track=judged.track,
        mifid=None if judged.mifid is None or math.isnan(judged.mifid) else judged.mifid,
        fid=measurement.fid,
        memorization_distance=measurement.memorization_distance,
        tau=judged.tau,
        penalised=judged.penalised,
        copy=judged.copy,
        disqualified=judged.disqualified,
        rank=judged.rank,
        extractor=extractor,
        weights_sha256=provenance.get("weights_sha256"),
        reference=provenance.get("reference"),
        scorer_version=measurement.scorer_version,
        versions={name: str(provenance[name]) for name in VERSIONS if provenance.get(name) is not None},
        measured_at=measurement.created_at,
    )
