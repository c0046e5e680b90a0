"""Schemas of generator uploads and audits."""

from datetime import datetime
from typing import Any

from pydantic import BaseModel, Field

from scorer.db.tables import GeneratorFile, Recovery
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
    """A target image and the generator's nearest image."""

    error: float = Field(description="The mean squared error for pixel values from -1 to 1.")
    name: str | None = Field(description="The name of the reference image; null for other targets.")


class PairsView(BaseModel):
    """Pairs of one group in order of error: the 4 best, 4 from the middle, and the 4 worst."""

    sheet: str = Field(
        description="The URL of a PNG with all pairs: target images above, the generator's nearest images below."
    )
    pairs: list[PairShown]


class FeaturesView(BaseModel):
    """The 1-nearest-neighbour two-sample test of newly drawn against submitted images, with their features."""

    accuracy: float = Field(description="The share of images with a nearest neighbour of their own kind.")
    expected: float = Field(description="The accuracy expected by chance.")
    p_value: float
    count: int = Field(description="The number of images of each kind.")


class GeneratorMatchView(BaseModel):
    """Whether the generator produced the submission."""

    verdict: MatchVerdict = Field(
        description="`another-generator`: it can't produce enough of the submission's images. `other-distribution`: it"
        " can, but newly drawn images differ from the submission's. `inconclusive`: the search did not find the"
        " generator's own images."
    )
    sentence: str
    count: int = Field(description="The number of the submission's images that were searched for.")
    found: float = Field(description="The share of these images that were found verbatim.")
    low: float = Field(description="The lower end of the share's 95 % interval.")
    high: float = Field(description="The upper end of the share's 95 % interval.")
    found_of_own: float = Field(description="The same share of the generator's own images.")
    found_of_held_out: float = Field(description="The same share of held-out images.")
    p_value: float = Field(
        description="The one-sided p-value of finding the submission's images less often than the generator's own."
    )
    detectable: DetectableShares = Field(description="The detectable shares of images that another generator produced.")
    features: FeaturesView | None


class PowerView(BaseModel):
    """The shares of memorised training images that the audit would detect."""

    random: DetectableShares = Field(description="For randomly drawn training images.")
    near: DetectableShares | None = Field(
        description=(
            "For training images near the submission, if it is near all memorised images; null if not searched."
        )
    )


class StartsView(BaseModel):
    """The share of images found after 1, 2, ... starts of the search."""

    verbatim: list[float] = Field(description="With an error below 0.025.")
    plausible: list[float] = Field(description="With an error below 0.1.")


class StabilityView(BaseModel):
    """Repeated searches for some of the generator's own images, from several starting points each."""

    starts: int
    targets: int
    low: list[float] = Field(
        description="The 25th percentile of all errors, before the first and after each iteration."
    )
    median: list[float]
    high: list[float] = Field(description="The 75th percentile.")
    found: list[float] = Field(
        description="For each image, the share of starts that found it verbatim, in ascending order."
    )


class RecoveredView(BaseModel):
    """The result of latent recovery on the generator, judged with the current thresholds."""

    verdict: Verdict
    explanation: str
    p_value: float | None = Field(
        description="The p-value of the two-sided KS test of training against held-out errors. If images near the"
        " submission were also compared, it is twice the p-value of the deciding test."
    )
    gap: float | None = Field(
        description="The signed MRE-gap: above 0, training images are recovered better than held-out ones."
    )
    recovered_share: float | None = Field(
        description="The share of the generator's own images found verbatim; below 0.9 the audit is inconclusive."
    )
    match: GeneratorMatchView | None = Field(description="Null if the submission was not compared.")
    power: PowerView
    histogram: ErrorHistogram | None = Field(description="Null if no errors were recorded.")
    starts: dict[TargetKind, StartsView] = Field(description="Empty if there was only one start.")
    stability: StabilityView | None = Field(description="Null unless the operator requested it.")
    report: dict[str, Any] = Field(description="All quantities of the audit with unit, direction and sentence.")
    pairs: dict[TargetKind, PairsView] = Field(description="Only organizers get held-out images.")
    measured_at: datetime


class FormerView(BaseModel):
    """A replaced generator and its verdict."""

    sha256: str
    handed_in_by: str
    handed_in_at: datetime
    verdict: Verdict | None = Field(description="Null if the file was refused.")


class GeneratorView(BaseModel):
    """The newest generator of a submission, or the submission itself if it is one, and the progress of its audit."""

    bytes: int
    sha256: str
    latent: int = Field(description="The latent dimension.")
    distribution: Distribution
    classes: int | None = Field(description="The classes of a one-hot class after the latent; null without one.")
    is_entry: bool = Field(description="Whether the submission itself is the generator.")
    handed_in_by: str
    handed_in_at: datetime = Field(description="When it was uploaded, or when the audit of a submission began.")
    state: AuditState
    stage: str | None
    fraction: float | None
    queue_position: int | None
    refusal: str | None = Field(description="Why the file was refused. You can upload another file.")
    faults: list[str]
    result: RecoveredView | None = Field(
        description="For reviewers and organizers. For the submission's team once a board is published or the"
        " submission has a ruling."
    )
    former: list[FormerView] = Field(description="Replaced generators, newest first. For reviewers and organizers.")


def generator_view(submission_id: str, status: AuditStatus) -> GeneratorView:
    generator = status.generator
    recovery = status.recovery
    return GeneratorView.model_validate(
        {name: getattr(generator, name) for name in ("bytes", "sha256", "distribution", "classes")}
        | {name: getattr(status, name) for name in ("state", "stage", "fraction", "queue_position", "refusal")}
        | {
            "latent": generator.dimension,
            "is_entry": generator.is_entry,
            "handed_in_by": generator.author.handle,
            "handed_in_at": generator.created_at,
            "faults": list(status.faults),
            "former": [_former(*replaced) for replaced in status.former],
            "result": None if recovery is None else _result(submission_id, recovery, held_out=status.sees_held_out),
        }
    )


def _former(generator: GeneratorFile, recovery: Recovery) -> FormerView:
    return FormerView(
        sha256=generator.sha256,
        handed_in_by=generator.author.handle,
        handed_in_at=generator.created_at,
        verdict=None if recovery.refusal is not None else generator_audits.decide_verdict(recovery),
    )


def _result(submission_id: str, recovery: Recovery, *, held_out: bool) -> RecoveredView:
    """``held_out`` includes the pairs of held-out images."""
    report = dict(recovery.report or {})
    pairs = report.pop("pairs")
    address = f"/api/v1/submissions/{submission_id}/generator/pairs"
    return RecoveredView(
        verdict=generator_audits.decide_verdict(recovery),
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
            group: PairsView(sheet=f"{address}/{group}", pairs=[PairShown(**pair) for pair in pairs[group]])
            for group in TARGET_KINDS
            if group in pairs and (held_out or group not in HELD_OUT_GROUPS)
        },
        measured_at=recovery.created_at,
    )
