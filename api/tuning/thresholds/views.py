"""Schemas of thresholds."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from api.http.views import Page, RecordView, Request
from kennel_client.names import ThresholdMethod
from scorer.db.tables import Threshold
from scorer.leaderboard.board_versions import ChangesPage, RankChange
from scorer.lifecycle import TrackKind
from scorer.tuning.impact import LISTED, AwardChange, PenaltyChange, ReviewWorkload
from scorer.tuning.threshold_history import ThresholdStep
from scorer.tuning.thresholds import Option, Retuning, TuningRequest, choice_as_json


class NewThreshold(Request):
    """A choice of tau."""

    method: ThresholdMethod = "margin"
    alpha: float = Field(
        0.0, ge=0, lt=1, description="For `margin`: the share of legitimate submissions that it may penalise."
    )
    tau: float | None = Field(None, ge=0, le=2, description="For `manual`: the tau.")
    reason: str = Field("", max_length=2000, description="Required unless this is a preview. The history shows it.")
    preview: bool = Field(False, description="Whether to return the impact without applying the tau.")
    after: int | None = Field(
        None,
        description="The ID of the threshold to replace. The request fails with 409 if there is a newer one.",
    )


class ImpactQuery(BaseModel):
    """A tau, and the threshold to compare it with."""

    method: ThresholdMethod = "manual"
    alpha: Annotated[
        float, Field(ge=0, lt=1, description="For `margin`: the share of legitimate submissions that it may penalise.")
    ] = 0.0
    tau: Annotated[float | None, Field(ge=0, le=2, description="For `manual`: the tau.")] = None
    previous: Annotated[
        int | None,
        Field(
            ge=0, description="The ID of the threshold to compare with, 0 for none; by default the current threshold."
        ),
    ] = None

    def request(self) -> TuningRequest:
        return TuningRequest(self.method, self.alpha, self.tau)


class ImpactSummaryQuery(ImpactQuery):
    """A tau, and the number of rows per list."""

    limit: Annotated[int, Field(ge=1, le=LISTED, description="The number of rows per list.")] = LISTED


class ImpactPageQuery(ImpactQuery):
    """A tau, and the requested page of a list."""

    after: Annotated[int, Field(ge=0, le=10**9, description="Skip this many rows.")] = 0
    limit: Annotated[int, Field(ge=1, le=1000)] = 100


class NewUndo(Request):
    """A request to undo the latest choice of tau."""

    reason: str = Field(min_length=1, max_length=2000)
    after: int | None = Field(None, description="The same as for a new threshold.")


class ImpactCounts(BaseModel):
    """The total number of rows in each list of an impact."""

    entries: int = Field(description="The submissions that tau is chosen for: all except late ones and benchmarks.")
    below: int = Field(description="The submissions that this tau penalises.")
    penalised: int = Field(description="The submissions that are newly penalised.")
    freed: int = Field(description="The submissions that are no longer penalised.")
    borderline: int
    moves: int
    medals: int
    prizes: int


class RetuningView(BaseModel):
    """A choice of tau, its statistics, and its impact on the board. Each list has up to 100 rows;
    `thresholds/impact/{name}` returns all rows in pages."""

    track: TrackKind
    preview: bool
    threshold_id: int | None
    tau: float
    previous_id: int | None = Field(
        description="The ID of the threshold it is compared with. Send it as `previous` for further pages."
    )
    previous_tau: float | None
    method: ThresholdMethod | Literal["undo"]
    choice: dict[str, Any] = Field(
        description="memorization_margin (the paper's d(M)), auc, cohens_d, the confusion matrix of the labelled"
        " submissions, and the interval of tau with the same impact."
    )
    counts: ImpactCounts
    penalised: list[PenaltyChange]
    freed: list[PenaltyChange]
    borderline: list[PenaltyChange] = Field(description="Submissions within 2 standard errors of tau.")
    moves: list[RankChange]
    medals: list[AwardChange] = Field(description="Teams that gain or lose a medal, or get another medal.")
    prizes: list[AwardChange]
    reviews: ReviewWorkload
    reviews_before: ReviewWorkload


class OptionPage(Page):
    choices: Sequence[Option]


class ThresholdView(RecordView):
    """A past or current tau, with its impact on the submissions at that time."""

    id: int
    tau: float
    method: str
    choice: dict[str, Any]
    reason: str
    author: str | None = Field(description="Null if it was set when the references were prepared.")
    created_at: datetime
    standing: bool = Field(description="Whether the choice has not been undone.")
    penalised_count: int
    freed_count: int
    penalised: list[PenaltyChange] = Field(
        description="The first 30 newly penalised submissions; `thresholds/{id}/changes` returns all."
    )
    freed: list[PenaltyChange] = Field(description="The same for submissions that are no longer penalised.")


class ThresholdPage(Page):
    thresholds: list[ThresholdView]


class ImpactPageView(Page):
    """A page of one list of an impact."""

    total: int
    entries: list[PenaltyChange | RankChange | AwardChange]


def retuning_view(
    retuning: Retuning, kind: TrackKind, method: str, *, threshold: Threshold | None = None
) -> RetuningView:
    """``threshold`` is the recorded row, None for a preview."""
    impact = retuning.impact
    totals = {name: page.total for name, page in retuning.lists.items()}
    return RetuningView(
        track=kind,
        preview=threshold is None,
        threshold_id=threshold.id if threshold else None,
        tau=retuning.choice.tau,
        previous_id=retuning.previous.id if retuning.previous else None,
        previous_tau=retuning.previous.tau if retuning.previous else None,
        method=method,
        choice=choice_as_json(retuning.choice),
        counts=ImpactCounts(entries=impact.entries, below=impact.below, **totals),
        reviews=impact.reviews,
        reviews_before=impact.reviews_before,
        **{name: page.rows for name, page in retuning.lists.items()},
    )


def impact_page_view(page: ChangesPage) -> ImpactPageView:
    return ImpactPageView.model_validate({"total": page.total, "entries": page.rows, "next_after": page.next_after})


def threshold_view(step: ThresholdStep) -> ThresholdView:
    row = step.threshold
    return ThresholdView.of(
        row,
        author=row.author.handle if row.author else None,
        standing=step.is_effective,
        penalised_count=step.penalised.total,
        freed_count=step.freed.total,
        penalised=step.penalised.rows,
        freed=step.freed.rows,
    )
