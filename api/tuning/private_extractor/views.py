"""Schemas of the private extractor's choice, and how responses are made."""

from pydantic import BaseModel, Field
from sqlalchemy.orm import Session

from api.http.views import Request
from scorer.competitions.competition_state import CompetitionState
from scorer.db.jobs.job_queue import progress_of
from scorer.extractor_catalogue import EXTRACTORS
from scorer.lifecycle import Queue
from scorer.tuning.extractor_comparison import ComparisonStatus, comparison_status


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


class PrivateExtractorView(BaseModel):
    """The private track's extractor, how far its scoring is, and the newest comparison."""

    extractor: str
    scored: int
    waiting: int
    failed: int
    candidates: list[str] = Field(description="Every available extractor.")
    may_choose: bool = Field(description="Until a provisional or final board is published.")
    comparison: ComparisonStatus


def private_extractor_view(session: Session, state: CompetitionState) -> PrivateExtractorView:
    """The present extractor of a competition's private track."""
    track = state.tracks["private"]
    scored = progress_of(session, track_id=track.id, queue=Queue.SCORE)
    return PrivateExtractorView(
        extractor=track.extractor,
        scored=scored.done,
        waiting=scored.waiting,
        failed=scored.failed,
        candidates=[each.identity for each in EXTRACTORS.values()],
        may_choose=not state.published,
        comparison=comparison_status(session, state),
    )
