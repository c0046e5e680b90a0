"""Schemas of thresholds, and how responses are made."""

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
    """How to choose tau."""

    method: ThresholdMethod = "margin"
    alpha: float = Field(0.0, ge=0, lt=1, description="`margin`: the share of legitimate entries it may penalise.")
    tau: float | None = Field(None, ge=0, le=2, description="`manual`: the value.")
    reason: str = Field("", max_length=2000, description="Why; required unless this is a preview.")
    preview: bool = Field(False, description="Return what would change, and change nothing.")
    after: int | None = Field(
        None, description="The id of the threshold that this decision is based on: 409 if there is a newer one."
    )


class ImpactQuery(BaseModel):
    """Which tau, compared with which."""

    method: ThresholdMethod = "manual"
    alpha: Annotated[
        float, Field(ge=0, lt=1, description="`margin`: the share of legitimate entries it may penalise.")
    ] = 0.0
    tau: Annotated[float | None, Field(ge=0, le=2, description="`manual`: the value.")] = None
    previous: Annotated[
        int | None,
        Field(ge=0, description="The id of the threshold to compare with, 0 for none; left out: the one in force."),
    ] = None

    def request(self) -> TuningRequest:
        """The choice of tau that is asked about."""
        return TuningRequest(self.method, self.alpha, self.tau)


class ImpactSummaryQuery(ImpactQuery):
    """Which tau, and how much of each list."""

    limit: Annotated[int, Field(ge=1, le=LISTED, description="Rows of each list.")] = LISTED


class ImpactPageQuery(ImpactQuery):
    """Which tau, and which page of a list."""

    after: Annotated[int, Field(ge=0, le=10**9, description="Show rows after this many.")] = 0
    limit: Annotated[int, Field(ge=1, le=1000)] = 100


class NewUndo(Request):
    """The undoing of the newest choice of tau."""

    reason: str = Field(min_length=1, max_length=2000)
    after: int | None = Field(None, description="As for a new threshold.")


class ImpactCounts(BaseModel):
    """How many rows each list of an impact has, of which the answer has the first ones."""

    entries: int = Field(description="Entries that tau is chosen over: those in time, without benchmarks.")
    below: int = Field(description="Entries that this tau penalises.")
    penalised: int
    freed: int
    borderline: int
    moves: int
    medals: int
    prizes: int


class RetuningView(BaseModel):
    """A choice of tau, the data it is based on, and its impact on the board that it was based on. Each list has its
    first rows here, at most 100; `thresholds/impact/{name}` has all of them, by pages."""

    track: TrackKind
    preview: bool
    threshold_id: int | None
    tau: float
    previous_id: int | None = Field(description="The threshold that it is compared with: `previous` of later pages.")
    previous_tau: float | None
    method: ThresholdMethod | Literal["undo"]
    choice: dict[str, Any] = Field(
        description="memorization_margin (the paper's d(M)), auc, cohens_d, confusion with the labels, and the interval"
        " of tau within which nothing changes."
    )
    counts: ImpactCounts
    penalised: list[PenaltyChange]
    freed: list[PenaltyChange]
    borderline: list[PenaltyChange] = Field(description="Entries within two standard errors of tau.")
    moves: list[RankChange]
    medals: list[AwardChange] = Field(description="Teams that gain or lose a medal, or change its colour.")
    prizes: list[AwardChange]
    reviews: ReviewWorkload
    reviews_before: ReviewWorkload


class OptionPage(Page):
    choices: Sequence[Option]


class ThresholdView(RecordView):
    """A past or present tau, and what it changed among the entries of that time."""

    id: int
    tau: float
    method: str
    choice: dict[str, Any]
    reason: str
    author: str | None = Field(description="Null: set by the preparation of the references.")
    created_at: datetime
    standing: bool = Field(description="Not undone.")
    penalised_count: int
    freed_count: int
    penalised: list[PenaltyChange] = Field(description="The first 30; `thresholds/{id}/changes` has all of them.")
    freed: list[PenaltyChange] = Field(description="As `penalised`.")


class ThresholdPage(Page):
    thresholds: list[ThresholdView]


class ImpactPageView(Page):
    """A page of one list of an impact."""

    total: int
    entries: list[PenaltyChange | RankChange | AwardChange]


def retuning_view(
    retuning: Retuning, kind: TrackKind, method: str, *, threshold: Threshold | None = None
) -> RetuningView:
    """A choice and its impact; ``threshold``: the recorded row, None for a preview."""
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
    """A page of a list."""
    return ImpactPageView.model_validate({"total": page.total, "entries": page.rows, "next_after": page.next_after})


def threshold_view(step: ThresholdStep) -> ThresholdView:
    """A tau of the history."""
    row = step.threshold
    return ThresholdView.of(
        row,
        author=row.author.handle if row.author else None,
        standing=step.standing,
        penalised_count=step.penalised.total,
        freed_count=step.freed.total,
        penalised=step.penalised.rows,
        freed=step.freed.rows,
    )
