"""Schemas of thresholds, and how responses are made."""

from dataclasses import asdict
from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, Field

from api.schemas.base import Request
from scorer.lifecycle import TrackKind
from scorer.tuning.threshold_history import ThresholdStep
from scorer.tuning.thresholds import Option, Retuning, choice_as_json
from scorer.tuning.what_if import WhatIfTable

Method = Literal["margin", "heldout", "otsu", "accuracy", "paper", "manual"]


class NewThreshold(Request):
    """How to choose tau."""

    method: Method = "margin"
    alpha: float = Field(0.0, ge=0, lt=1, description="`margin`: the share of legitimate entries it may penalise.")
    tau: float | None = Field(None, ge=0, le=2, description="`manual`: the value.")
    reason: str = Field("", max_length=2000, description="Why; required unless this is a preview.")
    preview: bool = Field(False, description="Return what would change, and change nothing.")
    after: int | None = Field(
        None, description="The id of the threshold that this decision is based on: 409 if there is a newer one."
    )


class NewUndo(Request):
    """The undoing of the newest choice of tau."""

    reason: str = Field(min_length=1, max_length=2000)
    after: int | None = Field(None, description="As for a new threshold.")


class ChangeView(BaseModel):
    """An entry that is penalised or freed, or near tau."""

    submission_id: str
    team: str
    memorization_distance: float
    label: str | None


class MoveView(BaseModel):
    """A team whose rank changes."""

    team: str
    before: int | None
    after: int | None


class MedalMoveView(BaseModel):
    """A team whose medal changes: `gold`, `silver`, `bronze` or null."""

    team: str
    before: str | None
    after: str | None


class ReviewsView(BaseModel):
    """How many entries must be reviewed until every medal place is held by an entry not labelled as memorising."""

    places: int = Field(description="Medal places that can be filled.")
    looked: int = Field(description="Entries from rank 1 down to the one that fills the last place.")
    open: int = Field(description="How many of these have no decided label: at least so many reviews are left.")


class RetuningView(BaseModel):
    """A choice of tau, the data it is based on, and its impact."""

    track: TrackKind
    preview: bool
    threshold_id: int | None
    tau: float
    previous_tau: float | None
    method: Method | Literal["undo"]
    choice: dict[str, Any] = Field(
        description="memorization_margin (the paper's d(M)), auc, cohens_d, confusion with the labels, and the interval"
        " of tau within which nothing changes."
    )
    penalised: list[ChangeView]
    freed: list[ChangeView]
    borderline: list[ChangeView]
    moves: list[MoveView]
    medals: list[MedalMoveView] = Field(description="Teams that gain or lose a medal, or change its colour.")
    reviews: ReviewsView
    reviews_before: ReviewsView


class LackView(BaseModel):
    """What a method needs but does not have."""

    type: str = Field(examples=["no-labels"])
    message: str


class OptionView(BaseModel):
    """The tau that one automatic method would choose, or what it lacks."""

    method: Method
    tau: float | None
    choice: dict[str, Any] | None
    lacks: LackView | None


class ThresholdView(BaseModel):
    """A past or present tau, and what it changed among the entries of that time."""

    id: int
    tau: float
    method: str
    choice: dict[str, Any]
    reason: str
    author: str | None = Field(description="Null: set by the preparation of the references.")
    created_at: datetime
    standing: bool = Field(description="Not undone.")
    penalised: list[ChangeView]
    freed: list[ChangeView]


class LineView(BaseModel):
    """An entry, and its score under any tau."""

    id: str
    team: str
    distance: float
    se: float | None
    label: str | None
    memorising: bool | None
    exempt: bool = Field(description="Never penalised, whatever tau is.")
    free: float | None = Field(description="The score as ranked where it is not penalised; null if it cannot rank.")
    penalised: float | None = Field(description="The score as ranked where it is penalised.")


class TableView(BaseModel):
    """All data that the board of a track under any tau can be computed from."""

    track: TrackKind
    tau: float | None
    threshold_id: int | None
    medals: dict[str, int]
    entries: list[LineView] = Field(description="In the order in which equal scores rank.")


def retuning_view(retuning: Retuning, kind: TrackKind, method: str, *, preview: bool) -> RetuningView:
    """A choice and its impact."""
    return RetuningView(
        track=kind,
        preview=preview,
        threshold_id=retuning.threshold.id if retuning.threshold else None,
        tau=retuning.choice.tau,
        previous_tau=retuning.previous_tau,
        method=method,
        choice=choice_as_json(retuning.choice),
        penalised=[ChangeView(**vars(each)) for each in retuning.penalised],
        freed=[ChangeView(**vars(each)) for each in retuning.freed],
        borderline=[ChangeView(**vars(each)) for each in retuning.borderline],
        moves=[MoveView(**vars(each)) for each in retuning.moves],
        medals=[MedalMoveView(**vars(each)) for each in retuning.medals],
        reviews=ReviewsView(**vars(retuning.reviews)),
        reviews_before=ReviewsView(**vars(retuning.reviews_before)),
    )


def option_view(option: Option) -> OptionView:
    """The tau that a method would choose, or what it lacks."""
    method: Method = option.method  # type: ignore[assignment] # pydantic knows the names
    if option.choice is None:
        lacks = LackView(type=option.lacks.slug, message=option.lacks.message) if option.lacks else None
        return OptionView(method=method, tau=None, choice=None, lacks=lacks)
    return OptionView(method=method, tau=option.choice.tau, choice=choice_as_json(option.choice), lacks=None)


def threshold_view(step: ThresholdStep) -> ThresholdView:
    """A tau of the history."""
    row = step.threshold
    return ThresholdView(
        id=row.id,
        tau=row.tau,
        method=row.method,
        choice=row.choice,
        reason=row.reason,
        author=row.author.handle if row.author else None,
        created_at=row.created_at,
        standing=step.standing,
        penalised=[ChangeView(**vars(each)) for each in step.penalised],
        freed=[ChangeView(**vars(each)) for each in step.freed],
    )


def table_view(table: WhatIfTable, kind: TrackKind) -> TableView:
    """The table of a track."""
    return TableView(
        track=kind,
        tau=table.threshold.tau if table.threshold else None,
        threshold_id=table.threshold.id if table.threshold else None,
        medals=table.medals,
        entries=[LineView(**asdict(row)) for row in table.rows],
    )
