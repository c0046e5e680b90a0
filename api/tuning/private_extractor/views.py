"""Schemas of the choice of the private extractor."""

from pydantic import BaseModel, Field
from sqlalchemy.orm import Session

from api.http.views import Request
from scorer.competitions.competition_state import CompetitionState
from scorer.db.jobs.job_queue import SCORING, load_progress
from scorer.extractor_catalogue import EXTRACTORS
from scorer.tuning.extractor_comparison import ComparisonStatus, comparison_status


class NewComparison(Request):
    """The extractors to compare with the current private extractor."""

    extractors: list[str] = Field(min_length=1, max_length=10, examples=[["inception_v3", "nasnetalarge"]])
    early_labels: bool = Field(
        False, description="Whether to use early labels for submissions without a decided label."
    )


class NewPrivateExtractor(Request):
    """The new extractor of the private track."""

    extractor: str = Field(examples=["nasnetalarge"])
    reason: str = Field(min_length=1, max_length=2000)
    tau: float | None = Field(
        None, ge=0, le=2, description="The track's initial tau; null for half the distance of the held-out images."
    )


class PrivateExtractorView(BaseModel):
    """The private track's extractor, the progress of its scoring, and the latest comparison."""

    extractor: str
    scored: int
    waiting: int
    failed: int
    candidates: list[str] = Field(description="All available extractors.")
    may_choose: bool = Field(
        description="Whether you can change the extractor, which is possible until a board is published."
    )
    comparison: ComparisonStatus


def private_extractor_view(session: Session, state: CompetitionState) -> PrivateExtractorView:
    track = state.tracks["private"]
    scored = load_progress(session, SCORING, track_id=track.id)
    return PrivateExtractorView(
        extractor=track.extractor,
        scored=scored.done,
        waiting=scored.waiting,
        failed=scored.failed,
        candidates=[spec.identity for spec in EXTRACTORS.values()],
        may_choose=not state.published,
        comparison=comparison_status(session, state),
    )
