"""Schemas of generator uploads and audits, and how responses are made."""

from datetime import datetime
from typing import Any

from pydantic import BaseModel, Field
from sqlalchemy.orm import Session

from scorer.db.tables import Account, GeneratorFile, Recovery, Submission
from scorer.evidence import generator_audits
from scorer.evidence.generator_audits import HELD_OUT_GROUPS, AuditState, AuditStatus
from scorer.generators.onnx_files import Distribution
from scorer.metrics.copying.generator_match import MatchVerdict
from scorer.metrics.copying.latent_recovery import (
    TARGET_KINDS,
    ErrorHistogram,
    TargetKind,
    Verdict,
    error_histogram,
)
from scorer.metrics.copying.recovery_power import DetectableShares


class PairShown(BaseModel):
    """A searched image, and the nearest one that the generator makes."""

    error: float = Field(description="Mean squared error, pixels in -1..1.")
    name: str | None = Field(description="Of the reference image; null for one of the generator's own.")


class PairsView(BaseModel):
    """Pairs of one group by growing error: the four best, the four in the middle, the four worst."""

    sheet: str = Field(description="Address of a PNG with all of them: searched images above, found ones below.")
    pairs: list[PairShown]


class FeaturesView(BaseModel):
    """The 1-nearest-neighbour two-sample test of newly drawn images against the entry's, by their features."""

    accuracy: float = Field(description="The share of images that are nearest to one of their own kind.")
    expected: float = Field(description="What it would be by chance.")
    p_value: float
    count: int = Field(description="Images of each kind.")


class GeneratorMatchView(BaseModel):
    """Whether the generator is the entry's."""

    verdict: MatchVerdict = Field(
        description="another-generator: too few of the entry's images are among those it makes; other-distribution: "
        "they are, but newly drawn images differ from the entry's; inconclusive: the search failed on its own images."
    )
    sentence: str
    count: int = Field(description="Images of the entry that were looked for.")
    found: float = Field(description="The share of them found verbatim.")
    low: float = Field(description="The 95 % interval of that share begins here.")
    high: float = Field(description="The 95 % interval ends here.")
    found_of_own: float = Field(description="The same share of the generator's own images.")
    found_of_held_out: float = Field(description="The same share of held-out images.")
    p_value: float = Field(description="One-sided: the entry's images are found less often than the generator's own.")
    detectable: DetectableShares = Field(description="Shares of images of another origin that would show.")
    features: FeaturesView | None


class PowerView(BaseModel):
    """Shares of remembered training images, of all of them, that the audit would find."""

    random: DetectableShares = Field(description="By the training images drawn at random.")
    near: DetectableShares | None = Field(
        description="By those near to the entry, if it is near to all that are remembered; null: none were looked for."
    )


class StartsView(BaseModel):
    """The share of images found after 1, 2 ... starts of the search."""

    verbatim: list[float] = Field(description="With an error below 0.025.")
    plausible: list[float] = Field(description="With an error below 0.1.")


class StabilityView(BaseModel):
    """The same images of the generator's own, searched from the same starts each."""

    starts: int
    targets: int
    low: list[float] = Field(description="25th percentile of all errors, before the first and after each iteration.")
    median: list[float]
    high: list[float] = Field(description="75th percentile.")
    found: list[float] = Field(description="For each image the share of starts that found it verbatim, ascending.")


class RecoveredView(BaseModel):
    """The result of latent recovery on the generator, judged with the present limits."""

    verdict: Verdict
    explanation: str
    p_value: float | None = Field(
        description="Of the two-sided KS test of training against held-out errors. Where images near to the entry were "
        "compared, too: that of the deciding test of the two, times two."
    )
    gap: float | None = Field(
        description="The signed MRE-gap: above 0, training images are recovered better than held-out ones."
    )
    recovered_share: float | None = Field(
        description="The share of the generator's own images found verbatim; below 0.9 the audit is inconclusive."
    )
    match: GeneratorMatchView | None = Field(description="null: no entry was compared.")
    power: PowerView
    histogram: ErrorHistogram | None = Field(description="null: no errors were recorded.")
    starts: dict[TargetKind, StartsView] = Field(description="Empty: one start.")
    stability: StabilityView | None = Field(description="null: not asked for by the operator.")
    report: dict[str, Any] = Field(description="Every quantity of the audit with its unit, direction and sentence.")
    pairs: dict[TargetKind, PairsView] = Field(description="Held-out images are shown to organizers only.")
    measured_at: datetime


class FormerView(BaseModel):
    """A generator that another one has replaced, and its verdict."""

    sha256: str
    handed_in_by: str
    handed_in_at: datetime
    verdict: Verdict | None = Field(description="null: the file was refused.")


class GeneratorView(BaseModel):
    """The newest generator of an entry, and how far its audit is."""

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
    refusal: str | None = Field(description="Why the file cannot be used; another one can be uploaded.")
    faults: list[str]
    result: RecoveredView | None = Field(
        description="For reviewers and organizers; for the entry's team once the final board is published or the entry "
        "is ruled on."
    )
    former: list[FormerView] = Field(description="Replaced ones, newest first; for reviewers and organizers.")


def visible_generator_view(session: Session, submission: Submission, account: Account) -> GeneratorView | None:
    """The generator of an entry that this person may see."""
    status = generator_audits.audit_status(session, submission, account)
    return None if status is None else generator_view(submission.id, status)


def generator_view(submission_id: str, status: AuditStatus) -> GeneratorView:
    """A generator, with as much of its result as ``status`` may show."""
    generator = status.generator
    recovery = status.recovery
    return GeneratorView.model_validate(
        {name: getattr(generator, name) for name in ("bytes", "sha256", "distribution")}
        | {name: getattr(status, name) for name in ("state", "stage", "fraction", "queue_position", "refusal")}
        | {
            "latent": generator.dimension,
            "handed_in_by": generator.author.handle,
            "handed_in_at": generator.created_at,
            "faults": list(status.faults),
            "former": [_former(*each) for each in status.former],
            "result": None if recovery is None else _result(submission_id, recovery, held_out=status.sees_held_out),
        }
    )


def _former(generator: GeneratorFile, recovery: Recovery) -> FormerView:
    return FormerView(
        sha256=generator.sha256,
        handed_in_by=generator.author.handle,
        handed_in_at=generator.created_at,
        verdict=None if recovery.refusal is not None else generator_audits.verdict_of(recovery),
    )


def _result(submission_id: str, recovery: Recovery, *, held_out: bool) -> RecoveredView:
    """The result of an audit; ``held_out``: with the pairs of held-out images."""
    report = dict(recovery.report or {})
    pairs = report.pop("pairs")
    address = f"/api/v1/submissions/{submission_id}/generator/pairs"
    return RecoveredView(
        verdict=generator_audits.verdict_of(recovery),
        explanation=report["sentence"],
        p_value=recovery.p_value,
        gap=recovery.gap,
        recovered_share=recovery.recovered_share,
        match=report.pop("match"),
        power=report.pop("power"),
        histogram=error_histogram(report["errors"]) if report["errors"] else None,
        starts=report.pop("starts"),
        stability=report.pop("stability"),
        report=report,
        pairs={
            group: PairsView(sheet=f"{address}/{group}", pairs=[PairShown(**each) for each in pairs[group]])
            for group in TARGET_KINDS
            if group in pairs and (held_out or group not in HELD_OUT_GROUPS)
        },
        measured_at=recovery.created_at,
    )
