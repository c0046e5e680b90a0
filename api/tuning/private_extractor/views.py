"""Schemas of the private extractor's choice, and how responses are made."""

from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, Field
from sqlalchemy.orm import Session

from api.http.views import RecordView, Request
from scorer.competitions.competition_state import CompetitionState
from scorer.extractor_catalogue import EXTRACTORS
from scorer.tuning import extractor_choice, extractor_comparison
from scorer.tuning.extractor_comparison import ComparedExtractor, ComparisonStatus
from scorer.tuning.thresholds import choice_as_json


class NewComparison(Request):
    """The extractors to compare with the present private one."""

    extractors: list[str] = Field(min_length=1, max_length=10, examples=[["inception_v3", "nasnetalarge"]])
    early_labels: bool = Field(False, description="Use early labels where no label is decided; they are marked.")


class NewPrivateExtractor(Request):
    """The new extractor of the private track."""

    extractor: str = Field(examples=["nasnetalarge"])
    reason: str = Field(min_length=1, max_length=2000)
    tau: float | None = Field(
        None, ge=0, le=2, description="The track's first tau; null: half the distance of the held-out images."
    )


class ComparedExtractorView(RecordView):
    """How well the memorization distance in one extractor's feature space separates the labelled entries."""

    extractor: str
    present: bool = Field(description="Whether the private track has it now.")
    state: Literal["preparing", "measuring", "done", "incomplete", "failed"] = Field(
        description="`incomplete`: measurements are missing and not queued; comparing again queues them."
    )
    stage: str | None = Field(description="Of the references, while they are prepared.")
    fraction: float | None
    measured: int
    failed: int
    error: str | None
    held_out_distance: float | None
    choice: dict[str, Any] | None = Field(
        description="Over the labelled entries that are measured: memorization_margin (the paper's d(M)), auc,"
        " cohens_d, and the tau of `margin` with the entries that it penalises rightly and wrongly."
    )
    lacks: str | None


class ComparisonView(BaseModel):
    """A comparison and its results so far, judged with the present labels."""

    started_at: datetime | None
    started_by: str | None
    memorising: int = Field(description="Entries known to memorise.")
    legitimate: int
    early_labels: int = Field(description="How many of these have only an early label.")
    extractors: list[ComparedExtractorView]


class PrivateExtractorView(BaseModel):
    """The private track's extractor, how far its scoring is, and the newest comparison."""

    extractor: str
    scored: int
    waiting: int
    failed: int
    candidates: list[str] = Field(description="Every available extractor.")
    may_choose: bool = Field(description="Until a provisional or final board is published.")
    comparison: ComparisonView


def private_extractor_view(session: Session, state: CompetitionState) -> PrivateExtractorView:
    """The present extractor of a competition's private track."""
    scored = extractor_choice.scoring_progress(session, state)
    return PrivateExtractorView(
        extractor=state.tracks["private"].extractor,
        scored=scored.done,
        waiting=scored.waiting,
        failed=scored.failed,
        candidates=[each.identity for each in EXTRACTORS.values()],
        may_choose=not state.published,
        comparison=comparison_view(extractor_comparison.comparison_status(session, state)),
    )


def comparison_view(status: ComparisonStatus) -> ComparisonView:
    """A comparison and its results so far."""
    comparison = status.comparison
    return ComparisonView(
        started_at=comparison.created_at if comparison else None,
        started_by=comparison.author.handle if comparison else None,
        memorising=status.memorising,
        legitimate=status.legitimate,
        early_labels=status.early_labels,
        extractors=[_compared(extractor) for extractor in status.extractors],
    )


def _compared(extractor: ComparedExtractor) -> ComparedExtractorView:
    choice = extractor.choice
    return ComparedExtractorView.of(extractor, choice=choice_as_json(choice) | {"tau": choice.tau} if choice else None)
