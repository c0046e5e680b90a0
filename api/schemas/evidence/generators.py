"""Generator uploads and audits: responses, and how they are made."""

from datetime import datetime
from typing import Any

from pydantic import BaseModel, Field
from sqlalchemy.orm import Session

from scorer.accounts.roles import is_organizer
from scorer.db.tables import Account, GeneratorFile, Recovery, Submission
from scorer.evidence import generator_audits
from scorer.evidence.generator_audits import IMAGE_GROUPS, AuditState, AuditStatus, ImageGroup
from scorer.metrics.copying.latent_recovery import Verdict
from scorer.onnx_files import Distribution


class PairShown(BaseModel):
    """An image that was looked for, and the nearest that the generator makes."""

    error: float = Field(description="Mean squared error, pixels in -1..1.")
    name: str | None = Field(description="Of the reference image; null for one of the generator's own.")


class PairsView(BaseModel):
    """Pairs of one group by growing error: the best, the middle and the worst four."""

    sheet: str = Field(description="Where they are in one picture: what was looked for above, what was found below.")
    pairs: list[PairShown]


class RecoveredView(BaseModel):
    """What searching the generator for images has found, judged by the limits of now."""

    verdict: Verdict
    explanation: str
    p_value: float | None = Field(description="Of the two-sided KS test of training against held-out errors.")
    gap: float | None = Field(
        description="The signed MRE-gap: above 0, training images are made better than fresh ones."
    )
    recovered_share: float | None = Field(
        description="Of the generator's own images, those that the search found verbatim; below 0.9 nothing is said."
    )
    report: dict[str, Any] = Field(description="Every number of the audit with its unit, direction and sentence.")
    pairs: dict[ImageGroup, PairsView] = Field(description="Held-out photographs are shown to organizers alone.")
    measured_at: datetime


class FormerView(BaseModel):
    """What came of a generator that another one has replaced."""

    sha256: str
    handed_in_by: str
    handed_in_at: datetime
    verdict: Verdict | None = Field(description="null: the file was refused.")


class GeneratorView(BaseModel):
    """The newest generator of an entry, and how far the work on it is."""

    bytes: int
    sha256: str
    latent: int = Field(description="Numbers of a latent vector.")
    distribution: Distribution
    handed_in_by: str
    handed_in_at: datetime
    state: AuditState
    stage: str | None
    fraction: float | None
    queue_position: int | None
    refusal: str | None = Field(description="Why the file cannot be used; another one can be handed in.")
    faults: list[str]
    result: RecoveredView | None = Field(
        description="For the review desk; for its team once the final board is published, or the entry ruled on."
    )
    former: list[FormerView] = Field(description="Replaced ones, newest first; for those at the review desk.")


def visible_generator_view(session: Session, submission: Submission, account: Account) -> GeneratorView | None:
    """The generator of an entry that this person may see."""
    found = generator_audits.audit_status(session, submission, account)
    return None if found is None else generator_view(submission.id, found, account)


def generator_view(submission_id: str, found: AuditStatus, account: Account) -> GeneratorView:
    """A generator, and what of its result is not hidden."""
    handed, came = found.generator, found.recovery
    return GeneratorView.model_validate(
        {name: getattr(handed, name) for name in ("bytes", "sha256", "distribution")}
        | {name: getattr(found, name) for name in ("state", "stage", "fraction", "queue_position", "refusal")}
        | {
            "latent": handed.dimension,
            "handed_in_by": handed.author.handle,
            "handed_in_at": handed.created_at,
            "faults": list(found.faults),
            "former": [_former(*each) for each in found.former],
            "result": None if came is None else _result(submission_id, came, held_out=is_organizer(account)),
        }
    )


def _former(handed: GeneratorFile, came: Recovery) -> FormerView:
    return FormerView(
        sha256=handed.sha256,
        handed_in_by=handed.author.handle,
        handed_in_at=handed.created_at,
        verdict=None if came.refusal is not None else generator_audits.verdict_of(came),
    )


def _result(submission_id: str, came: Recovery, *, held_out: bool) -> RecoveredView:
    """``held_out``: with what shows held-out photographs, or names them."""
    report = dict(came.report or {})
    pairs = report.pop("pairs")
    address = f"/api/v1/submissions/{submission_id}/generator/pairs"
    return RecoveredView(
        verdict=generator_audits.verdict_of(came),
        explanation=report["sentence"],
        p_value=came.p_value,
        gap=came.gap,
        recovered_share=came.recovered_share,
        report=report,
        pairs={
            group: PairsView(sheet=f"{address}/{group}", pairs=[PairShown(**each) for each in pairs[group]])
            for group in IMAGE_GROUPS
            if group in pairs and (held_out or group != "held_out")
        },
        measured_at=came.created_at,
    )
