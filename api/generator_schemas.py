"""The generator of an entry, as those who may see it are told."""

from datetime import datetime
from typing import Any

from pydantic import BaseModel, Field

from scorer.evidence.generator_audits import AuditState, ImageGroup
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
